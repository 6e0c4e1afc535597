internal import CNocturneKernels
import NocturneConcurrency
import NocturneCore

/// Follows parallel rays through a volume, from the viewer on.
///
/// Samples lie at whole multiples of a step from a plane in front of the volume, the same for all rays of a view, and are
/// composited from front to back until nothing behind them could be seen. Colours are lit by a lamp at the viewer: the more, the
/// more a place is a surface, by the gradient of its intensities.
struct RayCaster: Sendable {
    /// Its pointers are valid as long as the closure of ``with(_:_:_:_:_:)`` runs.
    private let scene: ParallelValue<nk_ray_scene>
    private let view: RenderingView
    /// From mm in the plane through the middle of the picture to the index of sample 0.
    private let inverse: Affine

    /// Lends the rays of a view to a loop that draws it.
    static func with<E: Error>(
        _ voxels: RenderedVoxels,
        _ blocks: VisibleBlocks,
        _ table: TransferFunction.Table,
        _ view: RenderingView,
        _ body: (RayCaster) throws(E) -> Void
    ) throws(E) {
        // The viewer is before all of the volume.
        let distance = length(voxels.affine.linear(voxels.end + 0.5))
        var inverse = voxels.inverse
        inverse.translation -= inverse.linear(view.direction.forward * distance)
        try voxels.withReaders { readers throws(E) in
            try blocks.isVisible.withParallelReader { isVisible throws(E) in
                try table.sums.withParallelReader { sums throws(E) in
                    var scene = nk_ray_scene(voxels, readers, isVisible.base, sums: sums.numbers())
                    scene.blocks = SIMD3(blocks.shape.x, blocks.shape.y, blocks.shape.z).integers
                    scene.look(view.direction.forward, voxels.inverse, table)
                    try body(RayCaster(scene: ParallelValue(scene), view: view, inverse: inverse))
                }
            }
        }
    }

    /// What is seen in the middle of a pixel: red, green and blue on black, and opacity.
    func color(_ x: Int, _ y: Int) -> SIMD4<UInt8> {
        let origin = SIMD3<Float>(inverse(view.place(x, y)))
        var place = (origin.x, origin.y, origin.z)
        var seen: (Float, Float, Float, Float) = (0, 0, 0, 0)
        withUnsafePointer(to: scene.value) { scene in
            withUnsafeBytes(of: &place) { place in
                withUnsafeMutableBytes(of: &seen) { seen in
                    nk_cast_ray(
                        scene,
                        place.assumingMemoryBound(to: Float.self).baseAddress!,
                        seen.assumingMemoryBound(to: Float.self).baseAddress!
                    )
                }
            }
        }
        func byte(_ value: Float) -> UInt8 { UInt8(min(max(value * 255 + 0.5, 0), 255)) }
        return SIMD4(byte(seen.0), byte(seen.1), byte(seen.2), byte(seen.3))
    }
}

extension nk_ray_scene {
    /// Without blocks and a direction.
    fileprivate init(
        _ volume: RenderedVoxels,
        _ readers: RenderedVoxels.Readers,
        _ visible: UnsafePointer<UInt8>,
        sums: UnsafePointer<Double>
    ) {
        self.init(
            voxels: readers.intensities.base + volume.origin,
            row: volume.row,
            plane: volume.plane,
            size: SIMD3(volume.shape.x, volume.shape.y, volume.shape.z).integers,
            labelled: readers.labels.map { $0.shares.base + volume.origin },
            labels: readers.labels?.places.base,
            colors: readers.colors.numbers(),
            sums: sums,
            visible: visible,
            blocks: (0, 0, 0),
            end: volume.end.floats,
            step: (0, 0, 0),
            gradient: (0, 0, 0, 0, 0, 0, 0, 0, 0),
            forward: (0, 0, 0),
            surface_gradient: 0
        )
    }

    /// - Parameters:
    ///   - direction: away from the viewer, of length 1.
    ///   - inverse: from mm to indices.
    fileprivate mutating func look(_ direction: SIMD3<Double>, _ inverse: Affine, _ table: TransferFunction.Table) {
        step = inverse.linear(direction * table.step).floats
        // A gradient along indices becomes one along mm by the transposed map.
        let (r, a, s) = (inverse.columnI.floats, inverse.columnJ.floats, inverse.columnK.floats)
        gradient = (r.0, r.1, r.2, a.0, a.1, a.2, s.0, s.1, s.2)
        forward = direction.floats
        surface_gradient = table.surfaceGradient
    }
}

extension SIMD3<Double> {
    fileprivate var floats: (Float, Float, Float) { (Float(x), Float(y), Float(z)) }
}

extension SIMD3<Int> {
    fileprivate var integers: (Int32, Int32, Int32) { (Int32(x), Int32(y), Int32(z)) }
}

extension ParallelReader where Element: SIMD {
    /// The same memory, number by number.
    fileprivate func numbers() -> UnsafePointer<Element.Scalar> {
        UnsafeRawPointer(base).assumingMemoryBound(to: Element.Scalar.self)
    }
}
