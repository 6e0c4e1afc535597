package import NocturneInference
package import NocturneNumerics
package import NocturnePostprocess

/// What a model package for volumes contains: one network, or a program of several whose label maps are merged.
///
/// A package of the task `volume-segmentation` is a program of one part with one member.
package struct VolumeModelSettings: Hashable, Sendable {
    /// The grid on which all parts work; nil for the volume's own.
    package let grid: ProgramGridSettings?
    /// A network that finds the box in which the parts work; nil for the whole volume.
    package let region: ProgramRegionSettings?
    /// In the order in which they are merged: a label of a later part replaces that of an earlier one.
    package let parts: [ProgramPartSettings]
    /// Of the merged label map, on ``grid``.
    package let postprocessing: PostprocessRules
    /// The window of pictures if an image gives none; see ``SegmentationModel/pictureWindow`` for nil.
    package let window: DisplayWindow?
}

/// The grid of a program: the volume reoriented to the nearest RAS+ grid and resampled.
package struct ProgramGridSettings: Hashable, Sendable {
    /// In mm along z, y and x; nil for the volume's own.
    package let spacing: [Double]?
    /// The voxels along z, y and x, instead of a spacing; nil for a grid of ``spacing``.
    package let size: [Int]?
    /// From the volume to the grid. Labels return with order 0 of the same method.
    package let resampling: ResamplingRule
    /// Whether resampled intensities lose their fractions, toward zero.
    package let truncates: Bool
}

/// The network that finds the region of a program.
package struct ProgramRegionSettings: Hashable, Sendable {
    /// The package whose labels determine the box.
    package let member: ProgramMember
    /// The grid on which the member works; nil for the volume's own.
    package let grid: ProgramGridSettings?
    /// Values of the member's labels whose voxels determine the box. At least one.
    package let labels: [UInt16]
    /// By how much the box is larger than the labels.
    package let margin: Margin
    /// With it, the box ends at planes of ``grid`` of which more than this share, 0 to below 1, has the labels.
    package let planeShare: Double?
    /// The quantiles of the image on ``grid`` to which intensities in the box are clamped; nil for none.
    package let clip: ClosedRange<Double>?
    /// Whether the box is enlarged while labels of the parts touch its sides.
    package let grows: Bool
    /// Whether intensities in the box lose their fractions, toward zero, before anything else.
    package let truncates: Bool
}

/// Networks that give one label map.
package struct ProgramPartSettings: Hashable, Sendable {
    /// One package, or an ensemble, whose probabilities are averaged. All have the same labels.
    package let members: [ProgramMember]
    /// For values of the members' labels, the values of the program's labels. Others become background.
    package let labels: [UInt16: UInt16]
}

/// A package among the networks of a program.
package struct ProgramMember: Hashable, Sendable {
    /// The path of its folder below that of the program; empty for a package that is not a program.
    package let path: String
    /// Of the task `volume-segmentation`.
    package let package: ModelPackage
    /// How its networks are applied.
    package let settings: VolumeSegmentationSettings

    /// The path of a file of the package among the files of the program.
    func programPath(of file: String) -> String { path.isEmpty ? file : path + "/" + file }

    /// Two members are the same if their packages are.
    package static func == (one: ProgramMember, other: ProgramMember) -> Bool {
        one.path == other.path && one.package.digest == other.package.digest
    }

    /// By what equality compares.
    package func hash(into hasher: inout Hasher) {
        hasher.combine(path)
        hasher.combine(package.digest)
    }
}

extension VolumeModelSettings: ModelSettings {
    /// The task of packages with several networks, and the key of its section in `model.json`.
    static let programTask = "volume-program"
    static let section = "volumeProgram"

    /// Reads the `model.json` of the members of a program, which are among its files.
    package init(_ package: ModelPackage) throws(ModelPackageError) {
        guard package.task == Self.programTask else {
            self.init(try VolumeSegmentationSettings(package), of: package)
            return
        }
        let validation = package.validation
        try validation.checkLabelMaps(package)
        let section = try package.section(Self.section, as: VolumeProgramSection.self)
        self = try validation.volumeProgram(section, of: package)
    }

    /// A program of one part with one member.
    init(_ settings: VolumeSegmentationSettings, of package: ModelPackage) {
        let own = package.labels.map { ($0.value, $0.value) }
        self.init(
            grid: nil,
            region: nil,
            parts: [
                ProgramPartSettings(
                    members: [ProgramMember(path: "", package: package, settings: settings)],
                    labels: Dictionary(uniqueKeysWithValues: own)
                )
            ],
            postprocessing: settings.postprocessing,
            window: settings.window
        )
    }

    /// That of all members.
    package var inputFormat: VolumeSegmentationSettings.InputFormat { parts[0].members[0].settings.inputFormat }

    /// All members, each once: that of the region, then those of the parts.
    var members: [ProgramMember] {
        var found: [ProgramMember] = []
        for member in (region.map { [$0.member] } ?? []) + parts.flatMap(\.members) where !found.contains(member) {
            found.append(member)
        }
        return found
    }

    /// The ONNX files of all members, among those of the program.
    package var networks: [String] {
        members.flatMap { member in member.settings.networks.map(member.programPath) }
    }
}
