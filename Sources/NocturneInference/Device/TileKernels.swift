internal import CTileKernels

/// The kernels: what is done with tiles between the runs of a network. Each returns before it has ended.
extension TileDevice {
    /// How voxels are labelled, see `LabelDecision` of NocturneNumerics.
    package struct Labelling: Sendable {
        /// A label (uint16) for each class.
        let values: DeviceMemory
        /// Above which the last class is chosen; nil for the class with the largest logit.
        let threshold: Float?

        /// - Parameter labels: one for each class.
        /// - Throws: ``EngineError``.
        package init(_ labels: [UInt16], threshold: Float?, on device: TileDevice) throws {
            values = try labels.withUnsafeBufferPointer { try device.allocate(copying: $0) }
            self.threshold = threshold
        }

        var classes: Int { values.byteCount / MemoryLayout<UInt16>.stride }
    }

    /// Copies a tile out of an image, mirrored along some axes, with zeros or the continued border beyond it:
    /// ``TilePlan/cut(tile:from:channels:into:scope:)``.
    package func cut(
        _ tile: Int,
        of plan: TilePlan,
        from image: DeviceMemory,
        flippedAlong axes: [Int],
        into target: DeviceMemory
    ) throws(EngineError) {
        let channels = image.floats / plan.imageShape.count
        precondition(target.floats == channels * plan.patch.count, "not the memory of a tile")
        let arguments = tile_cut(
            tile: target.values(of: Float.self),
            image: image.values(of: Float.self),
            patch: tile_size(plan.patch),
            shape: tile_size(plan.imageShape),
            start: tile_size(plan.startInImage(ofTile: tile)),
            flips: Self.flips(axes),
            continues: plan.rule.padding == .edge ? 1 : 0
        )
        try launch(tile_cut_kernel_number, arguments, count: target.floats)
    }

    /// Adds the logits of a mirrored pass to the sum of all, mirrored back.
    /// - Parameters:
    ///   - isFirst: whether nothing is in the sum yet.
    ///   - divisor: the number of passes, with the last one; nil before it.
    package func add(
        _ logits: DeviceMemory,
        patch: GridZYX,
        flippedAlong axes: [Int],
        to sum: DeviceMemory,
        isFirst: Bool,
        divisor: Int?
    ) throws(EngineError) {
        precondition(logits.floats >= sum.floats && sum.floats % patch.count == 0, "not the logits of a tile")
        let arguments = tile_add(
            sum: sum.values(of: Float.self),
            logits: logits.values(of: Float.self),
            patch: tile_size(patch),
            flips: Self.flips(axes),
            is_first: isFirst ? 1 : 0,
            divisor: Int32(divisor ?? 0)
        )
        try launch(tile_add_kernel_number, arguments, count: sum.floats)
    }

    /// Labels voxels by their logits, `[class][voxel]`.
    package func label(_ logits: DeviceMemory, by labelling: Labelling, into labels: DeviceMemory) throws(EngineError) {
        let voxels = labels.byteCount / MemoryLayout<UInt16>.stride
        precondition(logits.floats >= labelling.classes * voxels, "not the logits of these voxels")
        let arguments = tile_label(
            labels: labels.values(of: UInt16.self),
            logits: logits.values(of: Float.self),
            values: labelling.values.values(of: UInt16.self),
            voxels: Int32(voxels),
            classes: Int32(labelling.classes),
            is_regions: labelling.threshold == nil ? 0 : 1,
            threshold: labelling.threshold ?? 0
        )
        try launch(tile_label_kernel_number, arguments, count: voxels)
    }

    private static func flips(_ axes: [Int]) -> Int32 {
        zip(0..., [TILE_FLIP_Z, TILE_FLIP_Y, TILE_FLIP_X]).reduce(0) { axes.contains($1.0) ? $0 | $1.1 : $0 }
    }
}

extension tile_size {
    init(_ size: GridZYX) { self.init(z: Int32(size.z), y: Int32(size.y), x: Int32(size.x)) }
}

/// Counts values that are NaN or infinite.
package final class NonFiniteCounter {
    private let device: TileDevice
    /// One for each thread of the kernel.
    private let found: DeviceMemory
    private static var threads: Int { 1 << 14 }

    /// - Throws: ``EngineError``.
    package init(on device: TileDevice) throws(EngineError) {
        self.device = device
        found = try device.allocate(Self.threads, of: UInt32.self)
    }

    /// How many of the first `count` values are NaN or infinite. Waits for all kernels so far.
    /// - Throws: ``EngineError``.
    package func count(_ values: DeviceMemory, count: Int) throws(EngineError) -> Int {
        precondition((0...values.floats).contains(count), "fewer values")
        let arguments = tile_odd(
            found: found.values(of: UInt32.self),
            values: values.values(of: Float.self),
            count: Int64(count),
            stride: Int32(Self.threads)
        )
        try device.launch(tile_odd_kernel_number, arguments, count: Self.threads)
        var counts = [UInt32](repeating: 0, count: Self.threads)
        try counts.withUnsafeMutableBufferPointer { counts throws(EngineError) in
            try device.download(found, to: counts)
        }
        return counts.reduce(0) { $0 + Int($1) }
    }
}
