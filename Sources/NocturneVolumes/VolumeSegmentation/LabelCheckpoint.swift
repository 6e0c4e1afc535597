import Foundation
import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneNumerics
import NocturneRecipeSupport
import NocturneSystem

#if canImport(Glibc)
    import Glibc
#endif

/// Finished label slices of an item in progress, stored in staging so that a long volume resumes at its last slab.
///
/// `labels0.u16` holds the slices of the first level; `checkpoint0.json` records how many are valid and what they
/// belong to. The latter is replaced only after the former was flushed, so every slice that it counts is on disk.
struct LabelCheckpoint {
    private struct State: Codable {
        var fingerprint: String
        var instructionSet: String
        var parts: [Part]
        /// Of these slices, and possibly of later ones, which are inferred again.
        var confidence: ConfidenceTally

        /// The slices of one save, starting where the previous save ended.
        struct Part: Codable {
            var end: Int
            var sha256: String
        }
    }

    private let folder: String
    /// The cascade level; each has its own files.
    private let level: Int
    private let fingerprint: String
    private let instructionSet: String
    private let shape: VolumeShape
    private var parts: [State.Part] = []
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
    /// - Returns: the number of restored slices, and the confidence in their labels.
    mutating func restore(
        into labels: inout VoxelBuffer<UInt16>,
        scope: ComputeScope
    ) throws -> (slices: Int, confidence: ConfidenceTally) {
        guard let text = try? FileSystem.read(statePath, limit: Self.maximumStateBytes),
            let state = try? JSONDecoder().decode(State.self, from: Data(text)),
            state.fingerprint == fingerprint, state.instructionSet == instructionSet,
            let slices = state.parts.last?.end, slices <= shape.z,
            zip([0] + state.parts.map(\.end), state.parts).allSatisfy({ $0 < $1.end }),
            let descriptor = Optional(open(labelsPath, O_RDONLY | O_CLOEXEC)), descriptor >= 0
        else { return (0, ConfidenceTally()) }
        defer { close(descriptor) }
        let intact = try labels.withUnsafeMutableBufferPointer { labels throws -> Bool in
            let bytes = UnsafeMutableRawBufferPointer(labels)
            var offset = 0
            for part in state.parts {
                let end = part.end * shape.sliceCount * 2
                var digester = ContentDigester()
                while offset < end {
                    try scope.check()
                    let count = pread(
                        descriptor,
                        bytes.baseAddress! + offset,
                        min(1 << 22, end - offset),
                        off_t(offset)
                    )
                    if count <= 0 { return false }
                    digester.update(UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + count]))
                    offset += count
                }
                guard digester.finish().hex == part.sha256 else { return false }
            }
            return true
        }
        guard intact else {
            labels.clear()
            return (0, ConfidenceTally())
        }
        parts = state.parts
        return (slices, state.confidence)
    }

    /// Whether twice as much is free as all slices take.
    private var hasSpace: Bool {
        (FileSystem.freeBytes(at: folder) ?? .max) / 4 >= shape.count
    }

    /// Saves the slices finished since the last call, every few seconds or when forced. Nothing is saved while the disk is
    /// nearly full: results come first, and without a checkpoint only time is lost.
    mutating func save(
        _ labels: borrowing VoxelBuffer<UInt16>,
        _ confidence: ConfidenceTally,
        finishedSlices: Int,
        force: Bool,
        of total: Int
    ) throws {
        guard finishedSlices > saved, finishedSlices < total else { return }
        guard force || time.monotonic - lastSave > LabelCheckpoint.interval else { return }
        try FileSystem.makeFolder(folder)
        guard hasSpace else {
            lastSave = time.monotonic
            return
        }
        let descriptor = open(labelsPath, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw FileSystemError(operation: "create", path: labelsPath, code: errno) }
        defer { close(descriptor) }
        let end = finishedSlices * shape.sliceCount * 2
        let start = saved * shape.sliceCount * 2
        let digest = try labels.withUnsafeBufferPointer { labels throws -> ContentDigest in
            let bytes = UnsafeRawBufferPointer(labels)
            var offset = start
            while offset < end {
                let count = FaultPoint.checkpointWrite.call {
                    pwrite(descriptor, bytes.baseAddress! + offset, end - offset, off_t(offset))
                }
                if count < 0 {
                    if errno == EINTR { continue }
                    throw FileSystemError(operation: "write", path: labelsPath, code: errno)
                }
                offset += count
            }
            var digester = ContentDigester()
            digester.update(UnsafeRawBufferPointer(rebasing: bytes[start..<end]))
            return digester.finish()
        }
        guard FaultPoint.checkpointFlush.call({ fsync(descriptor) }) == 0 else {
            throw FileSystemError(operation: "flush", path: labelsPath, code: errno)
        }
        parts.append(State.Part(end: finishedSlices, sha256: digest.hex))
        let state = State(
            fingerprint: fingerprint,
            instructionSet: instructionSet,
            parts: parts,
            confidence: confidence
        )
        try FileSystem.replace(statePath, with: try StableJSON.encode(state))
        lastSave = time.monotonic
    }
}
