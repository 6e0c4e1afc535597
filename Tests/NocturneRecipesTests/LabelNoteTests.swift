import NocturneConcurrency
import NocturneCore
import NocturneInference
import NocturnePostprocess
import NocturneSystem
import NocturneVolumes
import Testing

@Suite("Notes about labels")
struct LabelNoteTests {
    @Test(
        "A left label on the right of its counterpart is noted, whatever the order of the axes",
        arguments: [1.0, -1]
    )
    func swappedSides(direction: Double) throws {
        let labels = [("left_kidney", 1), ("right_kidney", 2), ("bladder", 3), ("left_ureter", 4)].map { name, value in
            ModelLabel(value: UInt16(value), name: name, color: LabelColor(red: 0, green: 0, blue: 0))
        }
        var voxels = try VoxelBuffer<UInt16>(count: 8)
        for (place, label) in [(1, 1), (3, 3), (6, 2)] { voxels[place] = UInt16(label) }
        let map = LabelVolume(
            geometry: VolumeGeometry(
                shape: VolumeShape(x: 8, y: 1, z: 1),
                affine: .scaling(SIMD3(direction, 1, 1))
            ),
            voxels: voxels.frozen()
        )
        let measured = try LabelMeasurement.measure(labels: map, image: nil, values: [1, 2, 3, 4], scope: .serial())
        let notes = Note.swappedSides(measured, labels)
        // To the right of the patient, the first coordinate grows.
        #expect(notes.map(\.code) == (direction > 0 ? [] : ["labels.sidesSwapped"]))
        #expect(direction > 0 || notes[0].description.contains("left_kidney lies on the right of right_kidney"))
    }
}
