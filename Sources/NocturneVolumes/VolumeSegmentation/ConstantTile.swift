import NocturneCore
import NocturneInference

/// The logits of a tile in which every channel has one value, such as air below the lower bound of a CT, or the zeros around
/// a volume.
///
/// A network returns the same bits for the same input, so that they are computed once. Labels do not change by that.
final class ConstantTile {
    private var values: [Float] = []
    private var logits = VoxelBuffer<Float>.empty

    /// Logits of more floats are not kept: only tiles that directly follow such a tile are spared then.
    private static let limit = 16 << 20

    /// What is kept while the model is in use.
    static func floats(_ model: LevelModel) -> Int {
        let count = model.patch.count * model.classes
        return count <= limit ? count : 0
    }

    /// Copies the logits to `sum` if they are those of such a tile.
    func copy(_ values: [Float], to sum: inout VoxelBuffer<Float>) -> Bool {
        guard logits.count > 0, values.map(\.bitPattern) == self.values.map(\.bitPattern) else { return false }
        logits.withUnsafeBufferPointer { logits in
            sum.withUnsafeMutableBufferPointer { _ = $0.update(from: logits) }
        }
        return true
    }

    /// Keeps the logits of a tile, unless there are too many.
    /// - Throws: `AllocationError`.
    func keep(_ values: [Float], _ sum: borrowing VoxelBuffer<Float>) throws {
        guard sum.count <= Self.limit else { return }
        if logits.count != sum.count { logits = try VoxelBuffer(count: sum.count) }
        logits.withUnsafeMutableBufferPointer { logits in
            sum.withUnsafeBufferPointer { _ = logits.update(from: $0) }
        }
        self.values = values
    }
}

extension SessionSet {
    /// Whether the logits of a tile are known, which are in ``sum`` then.
    /// - Parameter constant: the value of each channel; nil for a tile with several values in a channel.
    func knows(_ constant: [Float]?, _ accumulator: Int) -> Bool {
        let held = content
        // Nothing is known of the logits of a run that is cancelled.
        content = nil
        guard let constant else { return false }
        let isHeld = held.map {
            $0.accumulator == accumulator && $0.values.map(\.bitPattern) == constant.map(\.bitPattern)
        }
        guard isHeld ?? false || constants[accumulator].copy(constant, to: &sum) else { return false }
        content = (accumulator, constant)
        return true
    }

    /// Keeps the logits of a tile that was run.
    /// - Throws: `AllocationError`.
    func keep(_ constant: [Float]?, _ accumulator: Int) throws {
        content = constant.map { (accumulator, $0) }
        if let constant { try constants[accumulator].keep(constant, sum) }
    }
}
