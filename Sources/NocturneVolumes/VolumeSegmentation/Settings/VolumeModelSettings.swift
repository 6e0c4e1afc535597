package import NocturneInference
package import NocturneNumerics
package import NocturnePictures
package import NocturnePostprocess
import NocturneSystem

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
    package let window: PictureWindow?
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

/// The packages of a program, each read once.
struct ProgramMembers {
    /// By the folder.
    private(set) var packages: [String: ModelPackage] = [:]
    /// Of those that segment volumes, by the folder.
    private(set) var settings: [String: VolumeSegmentationSettings] = [:]

    /// The folders that the section of a program names.
    static func folders(_ section: JSONFields) throws(JSONFields.Fault) -> Set<String> {
        var folders: Set<String> = []
        if section.has("region") { folders.insert(try section.object("region").string("package")) }
        for part in try section.objects("parts", atMost: JSONFields.maximumListCount) {
            folders.formUnion(try part.strings("packages", atMost: JSONFields.maximumListCount))
        }
        return folders
    }

    /// Reads the `model.json` of those folders in which it is among the program's files.
    init(_ folders: Set<String>, of program: ModelPackage) throws(ModelPackageError) {
        let ending = "/" + ModelPackage.documentName
        for file in program.files where file.path.hasSuffix(ending) {
            let folder = String(file.path.dropLast(ending.count))
            guard folders.contains(folder) else { continue }
            let member = try ModelPackage.load(folder: program.path(of: folder), verifyDigests: false)
            packages[folder] = member
            if member.task == VolumeSegmentation.task { settings[folder] = try VolumeSegmentationSettings(member) }
        }
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
        try package.requireLabelMap()
        let folders = try package.section(Self.section) { section throws(JSONFields.Fault) in
            try ProgramMembers.folders(section)
        }
        let members = try ProgramMembers(folders, of: package)
        let settings = try package.section(Self.section) { section throws(JSONFields.Fault) in
            try VolumeModelSettings(section, of: package, members: members)
        }
        // A label that no part gives would be reported as not found in every result.
        let made = Set(settings.parts.flatMap(\.labels.values))
        if let label = package.labels.first(where: { !made.contains($0.value) }) {
            throw package.refused("labels", "has \(label.name), which no part gives")
        }
        self = settings
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
