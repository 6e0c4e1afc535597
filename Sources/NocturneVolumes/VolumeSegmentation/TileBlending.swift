import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneInference
import NocturneNumerics
import NocturneSystem

/// The tiles of one level on one volume: runs them through the networks and blends them into planes of logits.
///
/// The planes that a row of tiles finishes can be read until the next tile is run.
final class TileBlending {
    let model: LevelModel
    let grid: ModelGrid
    private let image: FrozenVoxels<Float>
    private let plan: TilePlan
    private let passes: MirrorPasses
    private let sessions: SessionSet
    /// One for all networks, or one per network with nnU-Net's rounding.
    private var accumulators: [AccumulatorBox] = []
    /// Nil if the package does not blur logits.
    private let blur: LogitBlur?
    /// Nil if the networks see the whole grid.
    private let placed: PlacedPlanes?
    /// The planes of the grid that can be read.
    private var planes: Range<Int>
    /// Of the tiles so far, and of those before an interruption. With nnU-Net's rounding, networks are run one by one, and only
    /// the mirrored passes of each are compared.
    private(set) var agreement: AgreementTally
    /// Nil if there is a single pass.
    private let compared: PassAgreement?

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
        self.agreement = agreement
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
        image = level.image
        plan = try grid.tiles(model, options)
        passes = model.passes(options)
        compared = model.averages(options) ? try PassAgreement(decision, patch: model.patch) : nil
        if context.isLean { try FileSystem.makeFolder(context.staging) }
        let set = try resources.sessions.set(of: model, width: context.scope.width, options: options)
        self.sessions = set
        for _ in 0..<model.accumulatorCount(options) {
            let accumulator = try RollingAccumulator(
                plan: plan,
                classes: model.classes,
                map: set.map,
                resumingAtPlane: blur?.nextPlane ?? grid.plane(inWindow: plane),
                inFileIn: context.isLean ? context.staging : nil
            )
            accumulators.append(AccumulatorBox(accumulator))
        }
    }

    var stepCount: Int { plan.tileCount }
    var stepsDone: Int { accumulators[0].value.nextTile }

    /// Runs one tile through all networks.
    /// - Returns: the planes that became finished; often none.
    func step(_ scope: ComputeScope) throws -> Range<Int> {
        if let blur { try push(planesUntil: accumulators[0].value.finishedPlanes, into: blur) }
        let tile = stepsDone
        let row = plan.row(ofTile: tile)
        if tile == plan.tiles(inRow: row).lowerBound { agreement.begin(row: row) }
        let set = sessions
        try image.withUnsafeBufferPointer { image in
            try set.input.withUnsafeMutableBufferPointer { input in
                try plan.cut(tile: tile, from: image, channels: model.settings.inputChannels, into: input, scope: scope)
            }
        }
        let constant = set.input.withUnsafeBufferPointer {
            ConstantTile.values($0, channels: model.settings.inputChannels)
        }
        for (index, accumulator) in accumulators.enumerated() {
            let sessions = accumulators.count == 1 ? set.sessions[...] : set.sessions[index...index]
            if !set.knows(constant, index) {
                let counts = try set.infer(sessions, passes, model, compared, scope)
                // How often a tile of one value runs depends on where a run was interrupted.
                if constant == nil { agreement.add(counts, row: row) }
                try set.keep(constant, index)
            }
            try set.sum.withUnsafeBufferPointer { try accumulator.value.add($0, tile: tile, scope: scope) }
        }
        guard stepsDone % plan.tilesInRow == 0 else { return 0..<0 }
        var finished = 0..<0
        for accumulator in accumulators {
            finished = try accumulator.value.finishRow(scope: scope)
            // Counted there: to look at each tile by itself would be a further pass over all classes, on one thread.
            if accumulator.value.nonFiniteCount > 0 { throw NonFiniteLogits(in: finished, grid) }
        }
        let known = blur?.computablePlanes(afterPlanes: finished.upperBound) ?? finished.upperBound
        planes = planes.upperBound..<max(planes.upperBound, grid.planes(known: known))
        return planes
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
        guard let blur else { return try withBlendedPlane(plane, body) }
        try push(planesUntil: blur.lastPlane(neededFor: plane) + 1, into: blur)
        try blur.withPlane(plane, scope: scope, body)
    }

    private func push(planesUntil end: Int, into blur: LogitBlur) throws {
        while blur.nextPlane < end { try withBlendedPlane(blur.nextPlane) { try blur.push($0) } }
    }

    private func withBlendedPlane(_ plane: Int, _ body: (UnsafeBufferPointer<Float>) throws -> Void) throws {
        if accumulators.count == 1 {
            try accumulators[0].value.withPlane(plane, body)
        } else {
            try halfMean(plane).withUnsafeBufferPointer(body)
        }
    }

    /// The mean over networks as in nnU-Net: sum and quotient rounded to half precision.
    private func halfMean(_ plane: Int) -> [Float] {
        var sum: [Float] = accumulators[0].value.withPlane(plane) { Array($0) }
        for accumulator in accumulators.dropFirst() {
            accumulator.value.withPlane(plane) { next in
                for index in sum.indices { sum[index] = Float(Float16(sum[index] + next[index])) }
            }
        }
        let count = Float(accumulators.count)
        for index in sum.indices { sum[index] = Float(Float16(sum[index] / count)) }
        return sum
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

/// A network returned NaN or infinite values.
struct NonFiniteLogits: Error, CustomStringConvertible {
    let description: String

    /// - Parameter planes: of the grid's window.
    init(in planes: Range<Int>, _ grid: ModelGrid) {
        let (first, last) = (grid.window.lower.z + planes.lowerBound + 1, grid.window.lower.z + planes.upperBound)
        description =
            "the network returned NaN or infinite values, in planes \(first) to \(last) of \(grid.shape.z) of its grid"
    }
}

/// Boxes an accumulator, since noncopyable values cannot be array elements.
final class AccumulatorBox {
    var value: RollingAccumulator
    init(_ value: consuming RollingAccumulator) { self.value = value }
}
