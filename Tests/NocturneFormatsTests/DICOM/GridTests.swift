import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Grids of United Imaging")
struct GridTests {
    /// A grid of tiles of 12 × 12 pixels, not all of them used, as United Imaging stores it; pixel values are those of the tile.
    private func grid(
        _ count: Int = 3,
        across: Int = 2,
        down: Int = 2,
        positions: Int? = nil,
        tile: (width: Int, height: Int) = (12, 12),
        change: @escaping (inout DICOMDataSet) -> Void = { _ in }
    ) -> [UInt8] {
        var slice = TestSlice()
        slice.sopClass = "1.2.840.10008.5.1.4.1.1.4"
        slice.position = SIMD3(-10, -20, 5)
        slice.spacing = (2, 2)
        slice.change = { set in
            set.text(0x0008_0008, "CS", "ORIGINAL\\PRIMARY\\M")
            set.text(0x0065_0010, "LO", "Image Private Header")
            set.text(0x0065_1050, "DS", "\(count)")
            let items = (0..<(positions ?? count)).map { (index: Int) -> DICOMDataSet in
                var item = DICOMDataSet()
                item.text(0x0020_0032, "DS", "-10\\-20\\\(5 + 4 * index)")
                return item
            }
            set.sequence(0x0065_1051, items)
            let (columns, rows) = (across * tile.width, down * tile.height)
            set.short(0x0028_0010, rows)
            set.short(0x0028_0011, columns)
            let cells: [UInt16] = (0..<rows * columns).map { (index: Int) -> UInt16 in
                let (row, column) = (index / columns / tile.height, index % columns / tile.width)
                return UInt16(row * across + column + 1)
            }
            set.bytes(0x7FE0_0010, "OW", cells.flatMap { littleEndian($0) })
            change(&set)
        }
        return slice.file()
    }

    @Test(
        "no row of tiles is empty, and the layout is the one whose tiles are square",
        arguments: [
            // Slices, tiles across and down, pixels of a tile.
            (20, 5, 4, 12, 12), (20, 4, 5, 12, 12), (20, 5, 5, 12, 12), (20, 5, 4, 18, 12), (12, 4, 3, 16, 16),
            (21, 5, 5, 12, 12), (2, 2, 1, 12, 12), (2, 1, 2, 12, 12), (30, 6, 5, 9, 12), (31, 6, 6, 9, 12),
        ]
    )
    func layouts(count: Int, across: Int, down: Int, width: Int, height: Int) throws {
        try withScan(["a": grid(count, across: across, down: down, tile: (width, height))]) { scan in
            let series = try #require(scan.series.first)
            #expect(series.problem == nil)
            let volume = try DICOMReader.readVolume(series, scope: .serial())
            #expect(volume.geometry.shape == VolumeShape(x: width, y: height, z: count))
            #expect(voxels(volume) == (1...count).flatMap { [Float](repeating: Float($0), count: width * height) })
        }
    }

    @Test("the tiles of a United Imaging grid are slices at their stated positions")
    func unitedImaging() throws {
        try withScan(["a": grid()]) { scan in
            let series = try #require(scan.series.first)
            #expect(series.problem == nil)
            let volume = try DICOMReader.readVolume(series, scope: .serial())
            #expect(volume.geometry.shape == VolumeShape(x: 12, y: 12, z: 3))
            #expect(volume.geometry.spacing == SIMD3(2, 2, 4))
            #expect(voxels(volume) == (1...3).flatMap { [Float](repeating: Float($0), count: 144) })
            #expect(series.slices.map(\.plane.position) == [5.0, 9, 13].map { SIMD3(-10, -20, $0) })
        }
    }

    @Test("a grid without all its positions is refused, and other makers' elements of these numbers mean nothing")
    func brokenGrid() throws {
        try withScan(["a": grid(positions: 2)]) { scan in
            let problem = try #require(scan.series.first?.problem)
            #expect(problem.code == .mosaic && problem.detail.contains("the 2 positions (0065,1051) do not match"))
        }
        try withScan(["a": grid(change: { $0.text(0x0065_0010, "LO", "SOMEBODY ELSE") })]) { scan in
            #expect(scan.series.first?.slices.count == 1)
            #expect(scan.series.first?.problem?.code == .singleSlice)
        }
    }
}
