import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturnePostprocess
import NocturneSystem

/// Regions of a structure set as label maps; a region that overlaps others goes into a further volume.
struct RegionVolumes {
    /// At least one: an item without labels has an empty map.
    let volumes: [LabelVolume]
    /// How the regions were rasterized.
    let notes: [Note]

    /// A class, since buffers cannot be copied into an array.
    private final class Box {
        var buffer: VoxelBuffer<UInt16>
        init(_ geometry: VolumeGeometry) throws { buffer = try VoxelBuffer(count: geometry.shape.count) }
    }

    /// Rasterizes regions with the values of their labels, and sets the volumes of these.
    /// - Parameter maximum: the maximum number of volumes.
    /// - Returns: nil if no volume is left for a region.
    /// - Throws: `AllocationError`, `CancelledError`.
    init?(
        _ regions: [DICOMStructureSet.Region],
        labels: inout [ExistingLabel],
        on geometry: VolumeGeometry,
        atMost maximum: Int,
        scope: ComputeScope
    ) throws {
        var boxes = [try Box(geometry)]
        var notes: [Note] = []
        for (index, region) in regions.enumerated() {
            func fill(_ place: Int) throws -> ContourRasterizer.Summary? {
                try ContourRasterizer.fill(
                    region.contours.map(\.points),
                    value: labels[index].value,
                    into: &boxes[place].buffer,
                    geometry: geometry,
                    scope: scope
                )
            }
            // The first volume in which the region overlaps with nothing: most structure sets need only one.
            var place = 0
            var summary = try fill(place)
            while summary == nil {
                place += 1
                guard place < maximum else { return nil }
                if place == boxes.count { boxes.append(try Box(geometry)) }
                summary = try fill(place)
            }
            labels[index].volume = place
            notes += summary?.notes(about: region.name) ?? []
        }
        self.notes = notes
        volumes = boxes.map { box in
            var buffer = VoxelBuffer<UInt16>.empty
            swap(&buffer, &box.buffer)
            return LabelVolume(geometry: geometry, voxels: buffer.frozen())
        }
    }
}
