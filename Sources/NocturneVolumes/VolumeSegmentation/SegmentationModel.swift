import NocturneCore
package import NocturneInference
import NocturneNumerics
import NocturnePostprocess
import NocturneRecipeSupport

/// A model package with its networks in memory.
package final class SegmentationModel: Sendable {
    /// Of any task that has networks for volumes.
    package let package: ModelPackage
    /// How the networks are applied.
    package let settings: VolumeModelSettings
    /// What results of other engines and devices differ by.
    let engineIdentity: String
    /// The name of the engine, for results.
    package let engineName: String
    /// Of the networks' arithmetic.
    package let precision: InferencePrecision
    /// The network that finds the region of a program.
    let region: MemberModel?
    /// In the order of the settings; one for a package that is not a program.
    let parts: [PartModel]
    /// Every member once.
    private let members: [MemberModel]

    /// Loads the networks and checks that their inputs and outputs match the package.
    /// - Throws: ``UnusablePackageError``, `ModelPackageError`, `ModelFormatError`.
    package convenience init(package: ModelPackage, engine: any InferenceEngine, precision: InferencePrecision) throws {
        guard VolumeSegmentation.packageTasks.contains(package.task) else {
            throw UnusablePackageError(package: package.id, detail: "is for \(package.task), not for volumes")
        }
        try self.init(try VolumeModelSettings(package), of: package, engine: engine, precision: precision)
    }

    /// - Parameter settings: of a package of any task.
    /// - Throws: ``UnusablePackageError``, `ModelFormatError`.
    init(
        _ settings: VolumeModelSettings,
        of package: ModelPackage,
        engine: any InferenceEngine,
        precision: InferencePrecision
    ) throws {
        let members = try settings.members.map { try MemberModel($0, engine: engine, precision: precision) }
        func model(of member: ProgramMember) throws -> MemberModel {
            guard let model = members.first(where: { $0.member == member }) else {
                throw UnusablePackageError(package: package.id, detail: "\(member.path) is not among its members")
            }
            return model
        }
        self.package = package
        self.settings = settings
        self.precision = precision
        self.members = members
        engineIdentity = engine.identity
        engineName = engine.name
        region = try settings.region.map { try model(of: $0.member) }
        parts = try settings.parts.map { part in
            PartModel(members: try part.members.map(model), labels: part.labels)
        }
        for part in parts {
            guard let other = part.members.first(where: { $0.classes != part.members[0].classes }) else { continue }
            throw UnusablePackageError(
                package: package.id,
                detail: "\(other.member.path) returns \(other.classes) classes, \(part.members[0].member.path) "
                    + "\(part.members[0].classes); their probabilities cannot be averaged"
            )
        }
    }

    /// What runs the networks from now on: a device that fails is no longer used.
    var engineInUse: EngineInUse {
        // A package without networks is refused when it is read.
        EngineInUse(members[0].levels[0].networks[0], name: engineName, precision: precision)
    }

    /// The levels of all members.
    var levels: [LevelModel] { members.flatMap(\.levels) }

    /// The networks of all members.
    var loadedNetworks: [any LoadedNetwork] { levels.flatMap(\.networks) }

    /// The package's networks, in the order of its members and levels, with their input shapes (N, C, …).
    package var networks: [(file: String, inputShape: [Int])] {
        members.flatMap { model in
            model.levels.flatMap { level in
                level.settings.networks.map { (model.member.programPath(of: $0), level.inputShape) }
            }
        }
    }

    /// The parts that have a label which was asked for; all of them, and at least one, without such a choice.
    func partsInUse(_ options: SegmentationOptions) -> [PartModel] {
        guard parts.count > 1, let wanted = options.labels?.names else { return parts }
        let values = Set(package.labels.filter { wanted.contains($0.name) }.map(\.value))
        let used = parts.filter { !values.isDisjoint(with: $0.labels.values) }
        return used.isEmpty ? Array(parts[..<1]) : used
    }

    /// The labels of results: all, or those that were asked for.
    func wantedLabels(_ options: SegmentationOptions) -> [ModelLabel] {
        package.labels.filter { options.labels?.names.contains($0.name) ?? true }
    }

    /// What runs first: the network of the region, or the first part.
    func firstPart(_ options: SegmentationOptions) -> PartModel {
        region.map { PartModel(members: [$0], labels: [:]) } ?? partsInUse(options)[0]
    }

    /// Whether the package combines others.
    var isProgram: Bool { package.task == VolumeModelSettings.programTask }

    /// Number of image channels of a case.
    var channelCount: Int { package.channels.count }

    /// Whether it takes the intensities of scans: networks that take values as they are may be made for label maps.
    var takesIntensities: Bool {
        settings.inputFormat == .medical
            && settings.members.contains { member in
                member.package.channels.contains { $0.normalizations != [.none] }
            }
    }

    /// Whether the networks apply to volumes of a shape: a single slice needs networks for slices that lie in it.
    func takesShape(of source: VolumeSource) -> Bool {
        let shape = source.geometry.shape
        guard min(shape.x, shape.y, shape.z) < 2 else { return true }
        return !isProgram
            && levels.allSatisfy { level in
                let grid = try? ModelGrid(source: source, level: level.settings, foreground: { _ in nil })
                return level.settings.isPlanar && grid.map { min($0.native.x, $0.native.y) > 1 } ?? false
            }
    }

    /// What the model takes while it is in use. Of its levels, only those that run together have buffers: an earlier level of
    /// a cascade alone, and the last levels of an ensemble.
    package func memory(threads: Int, options: SegmentationOptions) throws -> LevelMemory {
        let needs = try levels.map { (level: $0, memory: try $0.memory(threads: threads, options: options)) }
        func bytes(_ levels: [LevelModel], _ part: (LevelMemory) -> Int) -> Int {
            levels.reduce(0) { sum, level in sum + (needs.first { $0.level === level }.map { part($0.memory) } ?? 0) }
        }
        let last = ((region.map { [[$0]] } ?? []) + parts.map(\.members)).map { $0.compactMap(\.levels.last) }
        let together = last + members.flatMap { $0.levels.dropLast().map { [$0] } }
        return LevelMemory(
            kept: needs.reduce(0) { $0 + $1.memory.kept },
            weights: needs.reduce(0) { $0 + $1.memory.weights },
            packed: PackedMemory(
                needs.map(\.memory.packed),
                together: together.map { bytes($0, \.packed.together) }.max() ?? 0
            ),
            workspace: needs.map(\.memory.workspace).max() ?? 0,
            buffers: together.map { bytes($0, \.buffers) }.max() ?? 0
        )
    }

    /// Names the package in an error about the outputs of its networks.
    func reporting(_ body: () throws -> Void) throws {
        do {
            try body()
        } catch let fault as NonFiniteLogits {
            throw NetworkOutputError(detail: "model \(package.id): \(fault)")
        }
    }
}

/// Networks that give one label map: one member, or an ensemble.
final class PartModel: Sendable {
    let members: [MemberModel]
    /// For values of the members' labels, the values of the program's labels.
    let labels: [UInt16: UInt16]

    init(members: [MemberModel], labels: [UInt16: UInt16]) {
        self.members = members
        self.labels = labels
    }

    /// The rules of the member's package; none for an ensemble, of which each member has its own.
    var postprocessRules: PostprocessRules {
        members.count == 1 ? members[0].member.settings.postprocessing : PostprocessRules()
    }

    /// The members' classes of these labels of the result, with their labels.
    func mappedClasses(_ labels: Set<UInt16>) -> [(index: Int, label: UInt16)] {
        members[0].decision.labels.enumerated().compactMap { index, value in
            guard value != 0, let label = self.labels[value], labels.contains(label) else { return nil }
            return (index, label)
        }
    }

    /// Whether labels keep their values, and none is left out.
    var keepsLabels: Bool {
        members[0].member.package.labels.allSatisfy { labels[$0.value] == $0.value }
    }
}

/// One package of a program with its networks in memory.
final class MemberModel: Sendable {
    let member: ProgramMember
    /// One, or two for a cascade.
    let levels: [LevelModel]
    /// The label value for each network output.
    let decision: LabelDecision

    init(_ member: ProgramMember, engine: any InferenceEngine, precision: InferencePrecision) throws {
        let package = member.package
        self.member = member
        levels = try member.settings.levels.map {
            try LevelModel(package: package, settings: $0, engine: engine, precision: precision)
        }
        try Self.checkActivations(member, levels)
        decision = try Self.decision(member, levels)
    }

    /// The number of outputs of the last level.
    var classes: Int { levels[levels.count - 1].classes }

    /// Refuses networks that return probabilities: those are made of the mean of logits.
    private static func checkActivations(_ member: ProgramMember, _ levels: [LevelModel]) throws {
        let applied: FinalActivation = member.settings.output == .classes ? .softmax : .sigmoid
        for level in levels {
            for (network, file) in zip(level.networks, level.settings.networks) {
                let output = network.outputs.first?.name
                guard let fault = network.activationFault(of: output, in: file, applied: applied) else { continue }
                throw UnusablePackageError(package: member.package.id, detail: fault)
            }
        }
    }

    private static func decision(_ member: ProgramMember, _ levels: [LevelModel]) throws -> LabelDecision {
        let package = member.package
        switch member.settings.output {
        case .regions(let threshold):
            if let level = levels.first(where: { $0.classes != package.labels.count }) {
                throw UnusablePackageError(
                    package: package.id,
                    detail: "there are \(package.labels.count) regions, the network returns \(level.classes)"
                )
            }
            return LabelDecision(regions: package.labels.map(\.value), threshold: threshold)
        case .classes:
            for level in levels {
                guard let label = package.labels.first(where: { Int($0.value) >= level.classes }) else { continue }
                throw UnusablePackageError(
                    package: package.id,
                    detail: "label \(label.name) is class \(label.value), the network returns classes 0 to "
                        + "\(level.classes - 1)"
                )
            }
            var table = [UInt16](repeating: 0, count: levels[0].classes)
            for label in package.labels { table[Int(label.value)] = label.value }
            return .largestLogit(labels: table)
        }
    }
}
