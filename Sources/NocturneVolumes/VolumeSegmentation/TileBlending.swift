import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneInference
import NocturneNumerics
import Synchronization

/// The planes of logits of one level on one volume: tiles run through the networks, blended, blurred, and placed in the grid.
///
/// The planes that a row of tiles finishes can be read until the next step.
final class TileBlending {
    let model: LevelModel
    let grid: ModelGrid
    private let plan: TilePlan
    private let tiles: any BlendedTiles
    /// Nil if the package does not blur logits.
    private let blur: LogitBlur?
    /// Nil if the networks see the whole grid.
    private let placed: PlacedPlanes?
    /// The planes of the grid that can be read.
    private var planes: Range<Int>

    /// - Parameters:
    ///   - plane: the first plane of logits that is needed.
    ///   - agreement: of the passes before an interruption.
    init(
        _ level: PreparedLevel,
        decision: LabelDecision,
        resources: InferenceResources,
        resumingAtPlane plane: Int,
        agreement: AgreementTally,
        context: StageContext
    ) throws {
        let options = resources.options
        model = level.model
        grid = level.grid
        planes = plane..<plane
        blur = try level.model.settings.logitBlur.map {
            try LogitBlur(
                sigmas: $0,
                shape: level.grid.window.shape,
                classes: level.model.classes,
                resumingAtPlane: level.grid.plane(inWindow: plane)
            )
        }
        placed = try grid.isWhole ? nil : PlacedPlanes(grid.window, in: grid.shape, classes: model.classes)
        let plan = try grid.tiles(model, options)
        self.plan = plan
        let set = try resources.sessions.set(of: model, width: context.scope.width, options: options)
        let work = TileWork(
            level: level,
            plan: plan,
            passes: model.passes(options),
            decision: decision,
            compared: model.averages(options) ? try PassAgreement(decision, patch: model.patch) : nil,
            plane: blur?.nextPlane ?? grid.plane(inWindow: plane),
            agreement: agreement
        )
        let onDevice = try set.onDevice(model, width: context.scope.width).flatMap { try DeviceTiles(work, $0) }
        if onDevice == nil { set.leaveDevice() }
        tiles = try onDevice ?? HostTiles(work, set, sums: model.accumulatorCount(options), context: context)
    }

    var stepCount: Int { plan.tileCount }
    var stepsDone: Int { tiles.stepsDone }
    var agreement: AgreementTally { tiles.agreement }

    /// Runs one tile through all networks, or finishes the row of tiles that a device has run.
    /// - Returns: the planes that became finished; often none.
    func step(_ scope: ComputeScope) throws -> Range<Int> {
        if let blur { try push(planesUntil: tiles.finishedPlanes, into: blur) }
        let finished = try tiles.step(scope)
        guard stepsDone % plan.tilesInRow == 0 else { return 0..<0 }
        let known = blur?.computablePlanes(afterPlanes: finished.upperBound) ?? finished.upperBound
        planes = planes.upperBound..<max(planes.upperBound, grid.planes(known: known))
        return planes
    }

    /// Calls `body`, which reads the planes that became finished. A device runs the tiles of the next row meanwhile.
    /// - Throws: what `body` throws; `CancelledError`; ``DeviceFault``.
    func whileReading(_ scope: ComputeScope, _ body: () throws -> Void) throws {
        guard let onDevice = tiles as? DeviceTiles, scope.width > 1 else { return try body() }
        let isRead = Atomic<Bool>(false)
        let errors = Mutex<[any Error]>([])
        // Two threads: one reads planes, which tiles of the next row do not change, the other one runs tiles.
        nonisolated(unsafe) let tiles = onDevice
        try withoutActuallyEscaping(body) { body in
            nonisolated(unsafe) let body = body
            try scope.forEach(2) { index in
                do {
                    if index == 0 {
                        defer { isRead.store(true, ordering: .relaxed) }
                        try body()
                    } else {
                        try tiles.stepAhead(scope) { !isRead.load(ordering: .relaxed) }
                    }
                } catch {
                    errors.withLock { $0.append(error) }
                }
            }
        }
        if let error = errors.withLock({ $0.first }) { throw error }
    }

    /// Calls `body` with the logits of a plane, `[class][y][x]`: one of those that became finished, in ascending order.
    func withPlane(_ plane: Int, scope: ComputeScope, _ body: (UnsafeBufferPointer<Float>) throws -> Void) throws {
        guard let placed else { return try withWindowPlane(plane, scope, body) }
        let inside = plane - grid.window.lower.z
        guard (0..<grid.window.shape.z).contains(inside) else { return try placed.withPlane(nil, body) }
        try withWindowPlane(inside, scope) { try placed.withPlane($0, body) }
    }

    /// A plane of the part that the networks see.
    private func withWindowPlane(
        _ plane: Int,
        _ scope: ComputeScope,
        _ body: (UnsafeBufferPointer<Float>) throws -> Void
    ) throws {
        guard let blur else { return try tiles.withPlane(plane, body) }
        try push(planesUntil: blur.lastPlane(neededFor: plane) + 1, into: blur)
        try blur.withPlane(plane, scope: scope, body)
    }

    private func push(planesUntil end: Int, into blur: LogitBlur) throws {
        while blur.nextPlane < end { try tiles.withPlane(blur.nextPlane) { try blur.push($0) } }
    }
}

/// A level with its input for one volume.
struct PreparedLevel {
    let model: LevelModel
    let grid: ModelGrid
    /// `[channel][z][y][x]` in the grid's shape.
    let image: FrozenVoxels<Float>

    /// Whether the grid differs from the volume's, and probabilities are what is resampled.
    var resamplesProbabilities: Bool { model.settings.resamplesProbabilities && !grid.isNative }
}
