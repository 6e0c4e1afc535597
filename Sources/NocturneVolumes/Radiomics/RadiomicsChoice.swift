import ArgumentParser
import Foundation
import NocturneRadiomics
package import NocturneRecipeSupport
import NocturneSystem

/// The value of `--radiomics`: how the features of labels are computed.
///
/// A batch records the content of a settings file, not its path: the file is not needed again.
package struct RadiomicsChoice: Sendable, Hashable {
    private enum Settings: Hashable {
        /// The preset of each image's modality.
        case byModality
        case same(RadiomicsSettings)
    }

    /// `auto`, the name of a preset, or settings as JSON.
    let text: String
    /// What results state: a digest of the settings, which changes with a preset as well.
    let digest: String
    private let settings: Settings

    static let auto = "auto"

    /// - Parameters:
    ///   - text: `auto`, the name of a preset, or a path.
    ///   - path: the same path from the root.
    /// - Throws: `BatchError` that names a file that cannot be used.
    init(given text: String, path: String) throws {
        guard text != Self.auto, RadiomicsSettings.preset(text) == nil else {
            try self.init(recorded: text)
            return
        }
        let read = try RadiomicsSettings(named: text, path: path)
        try self.init(recorded: String(decoding: StableJSON.encode(read), as: UTF8.self))
    }

    /// - Parameter text: as ``text``.
    /// - Throws: `RadiomicsSettingsError`.
    init(recorded text: String) throws {
        self.text = text
        let all: [RadiomicsSettings]
        if text == Self.auto {
            settings = .byModality
            all = RadiomicsSettings.usualPresets.compactMap { RadiomicsSettings.preset($0) }
        } else {
            let same = try RadiomicsSettings.preset(text) ?? RadiomicsSettings(parsing: Array(text.utf8))
            settings = .same(same)
            all = [same]
        }
        digest = ContentDigest.of(try StableJSON.encode(all)).hex
    }

    /// The settings for an image.
    /// - Parameter modality: of DICOM; nil where the header does not state it.
    func settings(modality: String?) -> RadiomicsSettings {
        switch settings {
        case .byModality: .usual(modality: modality)
        case .same(let settings): settings
        }
    }
}

extension RadiomicsSettings {
    fileprivate static let usualPresets = ["ct", "pet", "mr"]

    /// The preset of a modality; without one, that of intensities without a unit.
    static func usual(modality: String?) -> RadiomicsSettings {
        let name =
            switch modality {
            case "CT": "ct"
            case "PT": "pet"
            default: "mr"
            }
        return preset(name) ?? RadiomicsSettings()
    }
}

/// The option for radiomic features, for recipes that measure labels.
package struct RadiomicsOptions: OptionSection {
    /// The heading of the section in help.
    package static let title = "Radiomics"

    /// Nil for no features.
    package var choice: RadiomicsChoice?

    /// Each option with its help.
    package static let options: [Entry] = [
        Entry(
            OptionArgument.optional(
                "radiomics",
                String.self,
                ArgumentHelp(
                    "Also measure the radiomic features of IBSI for each label (radiomics.csv): auto for the preset of each "
                        + "image's modality, a preset, or a settings file.",
                    valueName: "preset-or-file"
                )
            ).completed(.file()),
            text: { $0.choice?.text },
            take: { options, text in
                options.choice =
                    try text.isGiven
                    ? RadiomicsChoice(given: text.text, path: absolutePath(text.text))
                    : RadiomicsChoice(recorded: text.text)
            }
        ).stated { $0.choice?.digest }
    ]

    /// Without features.
    package init() {}
}
