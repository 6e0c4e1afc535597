package import NocturneCore
package import NocturneInference
package import NocturneNumerics
package import NocturnePostprocess
import NocturneSystem

extension PhotoInstancesModel {
    /// How a model for instance segmentation of photos is applied.
    package struct Settings: Hashable, Sendable {
        /// What the network's outputs are.
        package enum Output: Hashable, Sendable {
            /// One output `[1][maps][y][x]` of the input's extents: foreground, boundary if `hasBoundary`, centre if `hasCentre`.
            case maps(Maps)
            /// Like YOLO-seg: `[1][4 + classes + coefficients][candidates]` and `[1][coefficients][y][x]`, by these names.
            case prototypes(candidates: String, prototypes: String, rules: DetectionDecoder.Rules)
            /// Like Mask R-CNN: boxes `[n][4]`, scores and classes `[n]`, masks `[n][1][y][x]`, by these names; the first
            /// class has the number `firstClass`.
            case masks(
                boxes: String,
                scores: String,
                classes: String,
                masks: String,
                firstClass: Int,
                rules: DetectionDecoder.Rules
            )
        }

        /// The network's file, among ``ModelPackage/files``.
        package let network: String
        /// How a photo becomes the network's input.
        package let input: Input
        /// How the network's outputs become instances.
        package let output: Output
        /// At least one; exactly one for maps, which do not distinguish classes.
        package let classes: [Class]
    }
}

extension PhotoInstancesModel.Settings {
    /// How a photo becomes a network's input: scaled so that the longer side has ``longSide`` pixels, then padded with the
    /// mean to multiples of ``multiple``. Channels are red, green and blue.
    package struct Input: Hashable, Sendable {
        /// Where the photo lies in the input.
        package enum Placement: String, Hashable, Sendable, CaseIterable {
            /// In the upper left corner: the padding is on the right and at the bottom.
            case corner
            /// In the middle: the padding is on both sides, an odd pixel on the right or at the bottom.
            case centre
        }

        /// How the photo is scaled.
        package enum Resampling: String, Hashable, Sendable, CaseIterable {
            /// As Pillow does it (bilinear): no pixel is skipped.
            case antialiased
            /// As OpenCV does it (bilinear): of the four pixels around each position.
            case bilinear
        }

        /// Pixels, 32...4096.
        package let longSide: Int
        /// Both extents of the input are multiples of it, 1...512.
        package let multiple: Int
        /// Whether the input is always a square of ``longSide``.
        package let isSquare: Bool
        /// The minimum length of a photo's shorter side, in pixels.
        package let minimumSide: Int
        /// Where the photo lies in the input.
        package let placement: Placement
        /// How the photo is scaled.
        package let resampling: Resampling
        /// How colours become values.
        package let colors: NetworkColors
    }

    /// How maps become instances.
    package struct Maps: Hashable, Sendable {
        /// What the network returns.
        package enum Activation: String, Hashable, Sendable, CaseIterable {
            /// The network returns probabilities.
            case none
            /// The network returns logits.
            case sigmoid
        }

        /// What is applied to the maps.
        package let activation: Activation
        /// Whether there is a map of the boundaries, the second.
        package let hasBoundary: Bool
        /// Whether there is a map of the centres, the last.
        package let hasCentre: Bool
        /// How many maps there are.
        package var mapCount: Int { 1 + (hasBoundary ? 1 : 0) + (hasCentre ? 1 : 0) }
        /// Areas and lengths in pixels of the maps.
        package let rules: InstanceSplitter.Rules
    }

    /// A class of instances.
    package struct Class: Hashable, Sendable {
        /// Safe as part of a file name, unique in the package ignoring case.
        package let name: String
        /// In overlays and on the page for review.
        package let color: LabelColor
    }
}

extension PhotoInstancesModel.Settings: ModelSettings {
    /// The key of the task's section in `model.json`.
    static let section = "photoInstances"

    /// - Throws: `ModelPackageError` naming the key.
    package init(_ package: ModelPackage) throws(ModelPackageError) {
        self = try package.section(Self.section) { section throws(JSONFields.Fault) in
            try PhotoInstancesModel.Settings(section, of: package)
        }
    }

    /// The only one.
    package var networks: [String] { [network] }
}
