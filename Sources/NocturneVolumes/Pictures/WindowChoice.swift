import ArgumentParser
import NocturneFormats
package import NocturnePictures
import NocturneRecipeSupport

/// The window of pictures as a person states it: the name of a preset, or centre and width, such as `40,400`.
package struct WindowChoice: RawRepresentable, Hashable, Sendable, ExpressibleByArgument, OptionValue {
    /// For the message about another text.
    package static var allowed: String {
        presets.map(\.name).joined(separator: ", ") + ", or centre and width such as 40,400"
    }

    /// A window for one kind of tissue in CT.
    struct Preset {
        let name: String
        /// HU.
        let center: Double
        /// HU.
        let width: Double

        /// For a person.
        var title: String { String(name.map { $0 == "-" ? " " : $0 }) }
        /// HU, shown as black.
        var lower: Double { center - width / 2 }
        /// HU, shown as white.
        var upper: Double { center + width / 2 }
    }

    /// The first is the window of CT without another one.
    static let presets = [
        Preset(name: "soft-tissue", center: 40, width: 400), Preset(name: "lung", center: -600, width: 1500),
        Preset(name: "bone", center: 300, width: 1500), Preset(name: "brain", center: 40, width: 80),
    ]

    static let softTissue = WindowChoice(presets[0])

    private init(_ preset: Preset) { (rawValue, lower, upper) = (preset.name, preset.lower, preset.upper) }

    /// The text as it was given.
    package let rawValue: String
    /// In the unit of measured intensities.
    let lower: Double
    let upper: Double

    /// Nil for other names, numbers that are not finite, and a width that is not above 0.
    package init?(rawValue: String) {
        self.rawValue = rawValue
        if let preset = WindowChoice.presets.first(where: { $0.name == rawValue }) {
            (lower, upper) = (preset.lower, preset.upper)
            return
        }
        let numbers = rawValue.split(separator: ",", omittingEmptySubsequences: false).map { Double($0) }
        guard numbers.count == 2, let center = numbers[0], let width = numbers[1], width > 0 else { return nil }
        (lower, upper) = (center - width / 2, center + width / 2)
        guard PictureWindow(lower: lower, upper: upper) != nil else { return nil }
    }

    var pictureWindow: PictureWindow { pictureWindow(scale: 1) }

    /// The same in values of an image, of which single precision has the nearest.
    /// - Parameter scale: from these values to the unit of the window.
    package func pictureWindow(scale: Double) -> PictureWindow {
        func bound(_ value: Double) -> Float {
            let largest = Float.greatestFiniteMagnitude
            return min(max(Float(value / scale), -largest), largest)
        }
        return .fixed(lower: bound(lower), upper: bound(upper))
    }
}

extension PictureWindow {
    /// Nil for an empty window.
    init?(_ window: DisplayRange) { self.init(lower: window.lower, upper: window.upper) }
}

extension DisplayRange {
    /// The window of the middle slice, by DICOM's linear function; nil if the header has none.
    init?(_ series: DICOMSeries) {
        guard !series.slices.isEmpty else { return nil }
        let middle = series.slices[series.slices.count / 2]
        guard let center = middle.plane.windowCenter, let width = middle.plane.windowWidth, width > 1 else {
            return nil
        }
        // DICOM PS3.3, C.11.2.1.2.1: the function is centred half a value below the stated centre, and one value narrower.
        let (lower, upper) = (center - 0.5 - (width - 1) / 2, center - 0.5 + (width - 1) / 2)
        guard lower.isFinite, upper.isFinite else { return nil }
        self.init(lower: lower, upper: upper)
    }

    /// Centre and width as the header of a DICOM image states them.
    var stated: (center: Double, width: Double) { ((lower + upper + 1) / 2, upper - lower + 1) }
}
