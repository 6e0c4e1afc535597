import NocturneBatch
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Memory and disk space of an item")
struct ItemPlanTests {
    private let plan = ItemPlan(
        buffers: [
            PlannedBuffer("voxels", bytes: 100, from: .load, through: .finish),
            PlannedBuffer("sums in a file", bytes: 1000, from: .infer, through: .infer, isInFile: true),
            PlannedBuffer("map in a file", bytes: 300, from: .infer, through: .write, isInFile: true),
            PlannedBuffer("labels", bytes: 10, from: .infer, through: .write),
        ],
        steps: 1,
        isLean: true,
        diskBytes: 50
    )

    @Test("Buffers in files take disk space, as many as there are at a time, and no memory")
    func onDisk() {
        let placed = plan.placingFiles(inMemory: false)
        #expect(placed.peak() == 110 && placed.diskBytes == 1350)
        #expect(placed.peak(from: .render) == 10)
    }

    @Test("Where files are memory, buffers in files and the result count as memory, also for the disk that is there")
    func inMemory() {
        let placed = plan.placingFiles(inMemory: true)
        #expect(placed.peak() == 1460 && placed.diskBytes == 1350)
        #expect(placed.peak(from: .render) == 360)
    }

    @Test("A file system in memory is recognised, also for a folder that is not there yet")
    func kinds() throws {
        let folder = try TemporaryFolder()
        // The system's own files are on no disk, and not in memory either.
        #expect(!FileSystem.isInMemory("/proc/self") && !FileSystem.isInMemory("/sys"))
        guard FileSystem.kind("/dev/shm") == .folder else { return }
        #expect(FileSystem.isInMemory("/dev/shm") && FileSystem.isInMemory("/dev/shm/none/nocturne"))
        #expect(FileSystem.isInMemory(folder.path) == FileSystem.isInMemory("/tmp"))
    }
}
