import NocturneConcurrency
import NocturneCore
import NocturneInference
import NocturneNumerics
import NocturneSystem

/// Tiles that stay on a device: the image is copied there once, and only finished planes of logits are copied back, and the labels
/// of passes that are compared. The same bits as ``HostTiles`` with float32 sums, for the same logits.
///
/// While planes of a row are read, the tiles of the next row can be run on another thread: ``stepAhead(_:while:)``.
final class DeviceTiles: BlendedTiles {
    private let work: TileWork
    private let set: DeviceSet
    private let image: DeviceMemory
    private let accumulator: DeviceAccumulator
    private let labelling: TileDevice.Labelling
    private(set) var agreement: AgreementTally
    /// A plane that is read.
    private var plane: VoxelBuffer<Float>
    /// The values of the last tile's channels; nil for a tile with several values in a channel.
    private var constant: [Float]?
    /// Whether tiles were added to a row that is not finished.
    private var isRowBegun = false
    /// Whether a network has returned a value that is not finite.
    private var isFinite = true

    /// - Returns: nil where the device has not enough memory, of which an eighth is left to others.
    /// - Throws: `AllocationError`.
    init?(_ work: TileWork, _ set: DeviceSet) throws {
        let (device, plan, image, classes) = (set.device, work.plan, work.level.image, work.level.model.classes)
        plane = try VoxelBuffer(count: plan.imageShape.y * plan.imageShape.x * classes)
        // The processor's path reports a package whose labels are not those of its network.
        guard work.decision.labels.count == classes else { return nil }
        do {
            let bytes = DeviceAccumulator.predictedBytes(plan: plan, classes: classes) + 4 * image.count
            guard try bytes <= device.unusedBytes() / 8 * 7 else { return nil }
            self.image = try image.withUnsafeBufferPointer { try device.allocate(copying: $0) }
            labelling = try TileDevice.Labelling(
                work.decision.labels,
                threshold: work.decision.threshold,
                on: device
            )
            accumulator = try DeviceAccumulator(
                plan: plan,
                classes: classes,
                map: set.map,
                resumingAtPlane: work.plane,
                on: device
            )
        } catch is EngineError {
            // A device that is at fault fails in the first run, too.
            return nil
        }
        self.work = work
        self.set = set
        agreement = work.agreement
    }

    /// The step of the last tile of a row ends with the row.
    var stepsDone: Int { accumulator.nextTile - (isRowComplete ? 1 : 0) }
    var finishedPlanes: Int { accumulator.finishedPlanes }

    /// Whether all tiles of a row were added, and the row is not finished.
    private var isRowComplete: Bool { isRowBegun && accumulator.nextTile % work.plan.tilesInRow == 0 }

    func step(_ scope: ComputeScope) throws -> Range<Int> {
        if !isRowComplete { try runTile(scope) }
        guard isRowComplete else { return 0..<0 }
        let (finished, nonFinite) = try set.onDevice { () throws(EngineError) in
            let finished = try accumulator.finishRow()
            let count = try accumulator.nonFiniteCount()
            // The kernels' fault, if the networks' values are all finite.
            if count > 0, isFinite { throw set.device.failed("sum tiles", "\(count) sums are NaN or infinite") }
            return (finished, count)
        }
        isRowBegun = false
        if nonFinite > 0 { throw NonFiniteLogits(in: finished, work.level.grid) }
        return finished
    }

    /// Runs the tiles of the next row, as long as they are wanted. Meanwhile another thread may read the planes of the last row.
    func stepAhead(_ scope: ComputeScope, while isWanted: () -> Bool) throws {
        while isWanted(), accumulator.nextTile < work.plan.tileCount, !isRowComplete { try runTile(scope) }
    }

    private func runTile(_ scope: ComputeScope) throws {
        let (tile, before) = (accumulator.nextTile, constant)
        let row = work.plan.row(ofTile: tile)
        if tile == work.plan.tiles(inRow: row).lowerBound { agreement.begin(row: row) }
        // Nothing is known of the logits of a run that is cancelled.
        constant = nil
        let values = work.level.image.withUnsafeBufferPointer { work.plan.constantValues(ofTile: tile, in: $0) }
        if values == nil || values?.map(\.bitPattern) != before?.map(\.bitPattern) {
            let counts = try infer(tile, scope)
            // How often a tile of one value runs depends on where a run was interrupted.
            if values == nil { agreement.add(counts, row: row) }
        }
        constant = values
        try set.onDevice { () throws(EngineError) in try accumulator.add(set.logits) }
        isRowBegun = true
    }

    func withPlane(_ number: Int, _ body: (UnsafeBufferPointer<Float>) throws -> Void) throws {
        try set.onDevice { () throws(EngineError) in
            try self.plane.withUnsafeMutableBufferPointer { plane throws(EngineError) in
                try accumulator.read(number, into: plane)
            }
        }
        try self.plane.withUnsafeBufferPointer(body)
    }

    /// The mean of all networks and passes for a tile, in the order of ``SessionSet``.
    private func infer(_ tile: Int, _ scope: ComputeScope) throws -> [UInt16: AgreementTally.Counts] {
        let (device, patch, runs) = (set.device, work.level.model.patch, set.sessions.count * work.passes.count)
        work.compared?.begin()
        var done = 0
        for session in set.sessions {
            for axes in work.passes.flips {
                try scope.check()
                try set.onDevice { () throws(EngineError) in
                    try device.cut(tile, of: work.plan, from: image, flippedAlong: axes, into: session.input)
                }
                let isFinite = try session.run(scope) { try cut(tile, flippedAlong: axes, into: $0, scope) }
                self.isFinite = self.isFinite && isFinite
                done += 1
                guard let sum = set.sum else { continue }
                try work.compared?.add(flippedAlong: axes, scope: scope) { try label(session.output, into: &$0) }
                try set.onDevice { () throws(EngineError) in
                    try device.add(
                        session.output,
                        patch: patch,
                        flippedAlong: axes,
                        to: sum,
                        isFirst: done == 1,
                        divisor: done == runs ? runs : nil
                    )
                }
            }
        }
        return try work.compared?.finish { try label(set.logits, into: &$0) } ?? [:]
    }

    /// The tile as the processor cuts it.
    private func cut(
        _ tile: Int,
        flippedAlong axes: [Int],
        into target: UnsafeMutableBufferPointer<Float>,
        _ scope: ComputeScope
    ) throws {
        let (plan, channels) = (work.plan, work.level.model.settings.inputChannels)
        try work.level.image.withUnsafeBufferPointer {
            try plan.cut(tile: tile, from: $0, channels: channels, into: target, scope: scope)
        }
        guard !axes.isEmpty else { return }
        let plain = Array(target)
        plain.withUnsafeBufferPointer {
            MirrorPasses.flip($0, channels: channels, patch: plan.patch, along: axes, into: target)
        }
    }

    private func label(_ logits: DeviceMemory, into labels: inout VoxelBuffer<UInt16>) throws {
        guard let memory = set.labels else { return }
        try set.onDevice { () throws(EngineError) in
            try set.device.label(logits, by: labelling, into: memory)
            try labels.withUnsafeMutableBufferPointer { labels throws(EngineError) in
                try set.device.download(memory, to: labels)
            }
        }
    }
}

/// The sessions of a level on a device, with what their tiles need there. One set serves all volumes, one after the other.
final class DeviceSet {
    let device: TileDevice
    /// One for each network.
    let sessions: [any DeviceSession]
    /// The weights of a tile's voxels.
    let map: DeviceMemory
    /// The mean over passes and networks, `[class][z][y][x]`; nil if there is a single pass, whose output it is.
    let sum: DeviceMemory?
    /// Of one pass; nil if there is a single one.
    let labels: DeviceMemory?

    /// - Returns: nil where a network cannot keep its tensors on a device.
    /// - Throws: errors of the networks.
    init?(_ model: LevelModel, map: ImportanceMap, width: Int, averages: Bool) throws {
        // nnU-Net's rounding is for comparisons with it, on the processor.
        guard map.precision == .single else { return nil }
        var sessions: [any DeviceSession] = []
        for network in model.networks {
            guard let network = network as? any DeviceNetwork,
                let session = try network.makeDeviceSession(inputShape: model.inputShape, width: width)
            else { return nil }
            sessions.append(session)
        }
        guard let device = sessions.first?.device, sessions.allSatisfy({ $0.device === device }) else { return nil }
        do {
            self.map = try map.weights.withUnsafeBufferPointer { try device.allocate(copying: $0) }
            sum = averages ? try device.allocate(model.patch.count * model.classes, of: Float.self) : nil
            labels = averages ? try device.allocate(model.patch.count, of: UInt16.self) : nil
        } catch is EngineError {
            return nil
        }
        self.device = device
        self.sessions = sessions
    }

    /// Of the last tile, `[class][z][y][x]`.
    var logits: DeviceMemory { sum ?? sessions[0].output }

    /// See ``DeviceSession/onDevice(_:)``.
    func onDevice<R>(_ body: () throws(EngineError) -> R) throws -> R { try sessions[0].onDevice(body) }
}
