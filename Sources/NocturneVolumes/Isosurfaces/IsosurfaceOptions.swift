import ArgumentParser
package import NocturneRecipeSupport

/// The options of a batch that makes isosurfaces.
package struct IsosurfaceOptions: OptionSection, RecipeOptions {
    /// The heading of the section in help.
    package static let title = "Isosurfaces"
    /// The option that enables this recipe.
    package static let enabling = "isosurface"
    /// The most values of a batch.
    package static let maximumCount = 8

    /// Of surfaces, and of the voxels inside them as labels.
    package var surfaces = SurfaceOptions()
    /// Which pictures are written.
    package var pictures = PictureOptions()
    /// Which inputs are volumes.
    package var inputs = VolumeInputOptions()
    /// In ascending order, without repetitions in single precision, which voxels have.
    package var thresholds: [IsosurfaceThreshold] = [] {
        didSet {
            var seen: Set<Float> = []
            thresholds = thresholds.sorted { $0.value < $1.value }.filter { seen.insert(Float($0.value)).inserted }
        }
    }

    /// In the order of help.
    package static let sections = [
        RecipeSection<Self>(\.surfaces), RecipeSection<Self>(\.pictures), RecipeSection<Self>(\.inputs),
        RecipeSection<Self>(\.self),
    ]

    /// Each option with its help.
    package static let options: [Entry] = [
        Entry(
            enabling,
            \.thresholds,
            ArgumentHelp(
                "Also make the isosurface of every volume at this intensity: in HU for CT, otherwise in the unit of the file. "
                    + "Needs no model. Repeatable, up to \(maximumCount) values.",
                valueName: "value"
            )
        )
    ]

    /// Without values, with which the recipe is not in use.
    package init() {}

    /// At most ``maximumCount`` values, counted after equal ones are joined.
    package func check() throws {
        guard thresholds.count <= Self.maximumCount else {
            throw ValidationError(
                "--isosurface takes up to \(Self.maximumCount) different values, not \(thresholds.count)."
            )
        }
    }

    /// In HU for CT, in the stored unit otherwise; in ascending order.
    package var values: [Double] { thresholds.map(\.value) }
}

/// A value of `--isosurface`, finite in single precision.
package struct IsosurfaceThreshold: ExpressibleByArgument, OptionValue, Hashable, Sendable {
    /// For the message about another text.
    package static var allowed: String { "a number such as 300 or -0.5" }
    /// Finite in single precision, and not -0.
    package let value: Double

    /// Nil for what is not such a number.
    package init?(argument: String) {
        guard let value = Double(argument), Float(value).isFinite else { return nil }
        // Adding zero turns -0 into 0.
        self.value = value + 0
    }

    /// The value as it is written.
    package var defaultValueDescription: String { Self.name(of: value) }

    /// A value as a text, without ".0": "300", "-0.5".
    static func name(of value: Double) -> String {
        let text = "\(value)"
        return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
    }
}
