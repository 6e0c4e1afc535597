import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneInference
import NocturneNumerics
import NocturneSystem

/// Tiles that are run through the networks of a level and blended into planes of logits.
protocol BlendedTiles: AnyObject {
    /// The number of the next tile.
    var stepsDone: Int { get }
    /// Planes of the window below this one are finished.
    var finishedPlanes: Int { get }
    /// Of the tiles so far, and of those before an interruption.
    var agreement: AgreementTally { get }
    /// Runs one tile through all networks, or finishes a row whose tiles were run before.
    /// - Returns: the planes of the window that became finished; often none.
    func step(_ scope: ComputeScope) throws -> Range<Int>
    /// Calls `body` with the logits of a plane, `[class][y][x]`, of those that the last row of tiles finished.
    func withPlane(_ plane: Int, _ body: (UnsafeBufferPointer<Float>) throws -> Void) throws
}

/// What tiles of one level on one volume are made from.
struct TileWork {
    let level: PreparedLevel
    let plan: TilePlan
    let passes: MirrorPasses
    let decision: LabelDecision
    /// Nil if there is a single pass.
    let compared: PassAgreement?
    /// The first plane of the window that is not known yet.
    let plane: Int
    /// Of the tiles before an interruption.
    let agreement: AgreementTally
}

/// Tiles in the processor's memory.
final class HostTiles: BlendedTiles {
    private let work: TileWork
    private let sessions: SessionSet
    /// One for all networks, or one per network with nnU-Net's rounding.
    private var accumulators: [AccumulatorBox] = []
    /// With nnU-Net's rounding, networks are run one by one, and only the mirrored passes of each are compared.
    private(set) var agreement: AgreementTally

    /// - Parameter sums: the number of sums that tiles are blended into.
    init(_ work: TileWork, _ sessions: SessionSet, sums: Int, context: StageContext) throws {
        self.work = work
        self.sessions = sessions
        agreement = work.agreement
        if context.isLean { try FileSystem.makeFolder(context.staging) }
        for _ in 0..<sums {
            let accumulator = try RollingAccumulator(
                plan: work.plan,
                classes: work.level.model.classes,
                map: sessions.map,
                resumingAtPlane: work.plane,
                inFileIn: context.isLean ? context.staging : nil
            )
            accumulators.append(AccumulatorBox(accumulator))
        }
    }

    var stepsDone: Int { accumulators[0].value.nextTile }
    var finishedPlanes: Int { accumulators[0].value.finishedPlanes }

    func step(_ scope: ComputeScope) throws -> Range<Int> {
        let (set, model, plan, tile) = (sessions, work.level.model, work.plan, stepsDone)
        let row = plan.row(ofTile: tile)
        if tile == plan.tiles(inRow: row).lowerBound { agreement.begin(row: row) }
        try work.level.image.withUnsafeBufferPointer { image in
            try set.input.withUnsafeMutableBufferPointer { input in
                try plan.cut(tile: tile, from: image, channels: model.settings.inputChannels, into: input, scope: scope)
            }
        }
        let constant = work.level.image.withUnsafeBufferPointer { plan.constantValues(ofTile: tile, in: $0) }
        for (index, accumulator) in accumulators.enumerated() {
            let sessions = accumulators.count == 1 ? set.sessions[...] : set.sessions[index...index]
            if !set.knows(constant, index) {
                let counts = try set.infer(sessions, work.passes, model, work.compared, scope)
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
            if accumulator.value.nonFiniteCount > 0 { throw NonFiniteLogits(in: finished, work.level.grid) }
        }
        return finished
    }

    func withPlane(_ plane: Int, _ body: (UnsafeBufferPointer<Float>) throws -> Void) throws {
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
