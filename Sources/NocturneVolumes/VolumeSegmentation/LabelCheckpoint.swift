import Foundation
import NocturneConcurrency
import NocturneCore
import NocturneNumerics
import NocturneSystem

/// What is counted of labels while their slices are made.
struct LabelTallies: Codable {
    var confidence = ConfidenceTally()
    /// Of the passes of each member.
    var agreement: [AgreementTally] = []
}

/// Finished label slices of an item in progress, stored in staging so that a long volume resumes at its last slab.
///
/// `labels0.u16` holds the slices of the first level; `checkpoint0.json` records how many are valid and what they
/// belong to. The latter is replaced only after the former was flushed, so every slice that it counts is on disk.
struct LabelCheckpoint {
    private struct State: Codable {
        /// Of the item: another one's slices are not used.
        var fingerprint: String
        /// Of the kernels that made the slices: others may differ in the last bits.
        var instructionSet: String
        var parts: [Part]
        /// Of these slices, and possibly of later ones, which are inferred again.
        var tallies: LabelTallies
        /// The classes whose probabilities are saved; nil without any.
        var probabilityClasses: [Int]?

        /// The slices of one save, starting where the previous save ended.
        struct Part: Codable {
            /// Slices up to this one are valid.
            var end: Int
            var sha256: String
            /// Of the part's probabilities, in a separate file.
            var probabilities: String?
        }
    }

    private let folder: String
    /// The cascade level; each has its own files.
    private let level: Int
    private let fingerprint: String
    private let instructionSet: String
    private let shape: VolumeShape
    private var parts: [State.Part] = []
    /// How many slices are on disk.
    private var saved: Int { parts.last?.end ?? 0 }
    private let time: any TimeSource
    private var lastSave: Duration
    /// Small volumes finish within this interval; writing their slices would cost more than inferring them again. With
    /// fault injection, slices are saved at every slab, so that the small volumes of tests are affected too.
    private static let interval = FaultInjection.isArmed ? Duration.zero : .seconds(4)

    init(
        folder: String,
        level: Int,
        fingerprint: String,
        instructionSet: String,
        shape: VolumeShape,
        time: any TimeSource
    ) {
        self.folder = folder
        self.level = level
        self.fingerprint = fingerprint
        self.instructionSet = instructionSet
        self.shape = shape
        self.time = time
        lastSave = time.monotonic
    }

    /// 40 bytes for each slice and label: enough for 1,000 slices with 200 labels each.
    private static let maximumStateBytes = 8 << 20

    private var labelsPath: String { folder + "/labels\(level).u16" }
    private var statePath: String { folder + "/checkpoint\(level).json" }

    /// Fills in the slices of an earlier attempt; ignores slices that are damaged or belong to another item.
    /// - Parameter probabilities: continues after the restored slices.
    /// - Returns: the number of restored slices, and what was counted of them.
    mutating func restore(
        into labels: inout VoxelBuffer<UInt16>,
        _ probabilities: StagedProbabilities?,
        scope: ComputeScope
    ) throws -> (slices: Int, tallies: LabelTallies) {
        guard let text = try? FileSystem.read(statePath, limit: Self.maximumStateBytes),
            let state = try? JSONDecoder().decode(State.self, from: Data(text)),
            state.fingerprint == fingerprint, state.instructionSet == instructionSet,
            let slices = state.parts.last?.end, slices <= shape.z,
            zip([0] + state.parts.map(\.end), state.parts).allSatisfy({ $0 < $1.end }),
            state.probabilityClasses == probabilities?.classes.classes
        else { return (0, LabelTallies()) }
        guard try restoreLabels(state.parts, into: &labels, scope: scope),
            try probabilities?.restore(state.parts.map { ($0.end, $0.probabilities ?? "") }, scope: scope) ?? true
        else {
            labels.clear()
            return (0, LabelTallies())
        }
        parts = state.parts
        return (slices, state.tallies)
    }

    /// - Returns: false for slices that are not those which were saved.
    private func restoreLabels(
        _ parts: [State.Part],
        into labels: inout VoxelBuffer<UInt16>,
        scope: ComputeScope
    ) throws -> Bool {
        guard let file = try? FileDescriptor(reading: labelsPath) else { return false }
        return try labels.withUnsafeMutableBufferPointer { labels throws -> Bool in
            let bytes = UnsafeMutableRawBufferPointer(labels)
            var offset = 0
            for part in parts {
                let end = part.end * shape.sliceCount * 2
                var digester = ContentDigester()
                while offset < end {
                    try scope.check()
                    let piece = bytes[offset..<min(offset + 1 << 22, end)]
                    let count = try? file.read(into: UnsafeMutableRawBufferPointer(rebasing: piece), at: offset)
                    guard count == piece.count else { return false }
                    digester.update(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(bytes)[piece.indices]))
                    offset = piece.endIndex
                }
                guard digester.finish().hex == part.sha256 else { return false }
            }
            return true
        }
    }

    /// Whether twice as much is free as all slices take, on a disk: in memory they would take what results need.
    private var hasSpace: Bool {
        (FileSystem.freeBytes(at: folder) ?? .max) / 4 >= shape.count && !FileSystem.isInMemory(folder)
    }

    /// Saves the slices finished since the last call, every few seconds or when forced. Nothing is saved while the disk is
    /// nearly full: results come first, and without a checkpoint only time is lost.
    mutating func save(
        _ labels: borrowing VoxelBuffer<UInt16>,
        _ tallies: LabelTallies,
        _ probabilities: StagedProbabilities?,
        finishedSlices: Int,
        force: Bool,
        of total: Int
    ) throws {
        guard finishedSlices > saved, finishedSlices < total else { return }
        // After a cancellation between the probabilities and the labels of a slice, the checkpoint before stays.
        guard probabilities?.end(at: finishedSlices) ?? true else { return }
        guard force || time.monotonic - lastSave > LabelCheckpoint.interval else { return }
        try FileSystem.makeFolder(folder)
        guard hasSpace else {
            lastSave = time.monotonic
            return
        }
        let file = try FileDescriptor(updating: labelsPath, points: .checkpoint)
        let start = saved * shape.sliceCount * 2
        let end = finishedSlices * shape.sliceCount * 2
        let digest = try labels.withUnsafeBufferPointer { labels throws -> ContentDigest in
            let bytes = UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(labels)[start..<end])
            try file.write(bytes, at: start)
            var digester = ContentDigester()
            digester.update(bytes)
            return digester.finish()
        }
        try file.flush()
        let own = try probabilities?.save(finishedSlices: finishedSlices)
        parts.append(State.Part(end: finishedSlices, sha256: digest.hex, probabilities: own?.hex))
        let state = State(
            fingerprint: fingerprint,
            instructionSet: instructionSet,
            parts: parts,
            tallies: tallies,
            probabilityClasses: probabilities?.classes.classes
        )
        try FileSystem.replace(statePath, with: try StableJSON.encode(state))
        lastSave = time.monotonic
    }
}
