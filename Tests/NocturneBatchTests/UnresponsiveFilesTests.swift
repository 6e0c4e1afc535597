import Dispatch
import NocturneBatch
import NocturneConcurrency
import NocturneJournal
import NocturneSystem
import NocturneTestSupport
import Synchronization
import Testing

/// A file system of which some files hang until they are released.
private final class HangingFiles: Sendable {
    private let gates: [String: DispatchSemaphore]
    private let tried = Mutex<[String]>([])
    private let hanging = Mutex<Set<String>>([])

    init(_ paths: [String]) {
        gates = Dictionary(uniqueKeysWithValues: paths.map { ($0, DispatchSemaphore(value: 0)) })
    }

    func read(_ path: String, _ request: UnresponsiveFiles.Request) {
        tried.withLock { $0.append(path) }
        guard let gate = gates[path] else { return }
        hanging.withLock { _ = $0.insert(path) }
        gate.wait()
        hanging.withLock { _ = $0.remove(path) }
    }

    func release() { for gate in gates.values { gate.signal() } }
    var triedPaths: [String] { tried.withLock { $0.sorted() } }
    var hangingCount: Int { hanging.withLock { $0.count } }
}

@Suite("Files that do not respond")
struct UnresponsiveFilesTests {
    /// Runs a call of `among` beside `body`, which lets time pass.
    private func among(
        _ files: UnresponsiveFiles,
        _ paths: [String],
        _ request: UnresponsiveFiles.Request = .content,
        flag: CancellationFlag = CancellationFlag(),
        _ body: () async throws -> Void
    ) async throws -> Set<String> {
        let pool = try BlockingPool(width: 1)
        defer { pool.shutdown() }
        async let found = pool.run { try files.among(paths, request, flag: flag) }
        try await body()
        return try await found
    }

    @Test("are found once their time is over, and only these")
    func found() async throws {
        let disk = HangingFiles(["/b", "/d"])
        defer { disk.release() }
        let time = ManualTime()
        let files = UnresponsiveFiles(patience: 30, time: time, probe: disk.read)
        let found = try await among(files, ["/a", "/b", "/c", "/d", "/e"]) {
            #expect(await until { disk.hangingCount == 2 && disk.triedPaths.count == 5 })
            time.advance(by: .seconds(31))
        }
        #expect(found == ["/b", "/d"] && files.paths == ["/b", "/d"])
        #expect(files.reason(for: "/b").text == "did not respond within 30 s when it was read")
        let next = UnresponsiveFiles(patience: 30, remembered: ["/b"], time: time, probe: disk.read)
        #expect(next.reason(for: "/b").text == "did not respond when it was read")
    }

    @Test("do not keep the others from being tried, even where more hang than there are readers")
    func many() async throws {
        let paths = (0..<20).map { "/\($0)" }
        let disk = HangingFiles(Array(paths.prefix(10)))
        defer { disk.release() }
        let time = ManualTime()
        let files = UnresponsiveFiles(patience: 5, time: time, probe: disk.read)
        let found = try await among(files, paths) {
            for count in [4, 8, 10] {
                #expect(await until { disk.hangingCount == count })
                time.advance(by: .seconds(6))
            }
        }
        #expect(found == Set(paths.prefix(10)) && disk.triedPaths.count == 20)
    }

    @Test("are tried once; a new round tries those again that responded")
    func rounds() async throws {
        let disk = HangingFiles(["/b"])
        defer { disk.release() }
        let time = ManualTime()
        let files = UnresponsiveFiles(patience: 1, time: time, probe: disk.read)
        _ = try await among(files, ["/a", "/b"]) {
            #expect(await until { disk.hangingCount == 1 })
            time.advance(by: .seconds(2))
        }
        #expect(try await among(files, ["/a", "/b"]) {} == ["/b"])
        #expect(disk.triedPaths == ["/a", "/b"])
        files.beginAnew()
        #expect(try await among(files, ["/a", "/b"]) {} == ["/b"])
        #expect(disk.triedPaths == ["/a", "/a", "/b"])
    }

    @Test("that do not even say what they are may be folders; the content of those that do is tried too")
    func status() async throws {
        let disk = HangingFiles(["/share"])
        defer { disk.release() }
        let time = ManualTime()
        let files = UnresponsiveFiles(patience: 30, remembered: ["/a"], time: time, probe: disk.read)
        let found = try await among(files, ["/a", "/b", "/share"], .status) {
            #expect(await until { disk.hangingCount == 1 && disk.triedPaths.count == 3 })
            time.advance(by: .seconds(31))
        }
        // It is remembered that the content of /a does not respond.
        #expect(found == ["/share"] && files.paths == ["/a", "/share"])
        #expect(try await among(files, ["/a", "/b", "/share"]) {} == ["/a", "/share"])
        #expect(disk.triedPaths == ["/a", "/b", "/b", "/share"])
        #expect(files.reason(for: "/share").text == "did not respond within 30 s when it was looked for")
        let table = try FoundTable()
        try table.addFailures(of: files)
        #expect(try table.items().map(\.key) == ["file:/a", "missed:/share"])
    }

    @Test("that respond after all are no longer listed")
    func late() async throws {
        let disk = HangingFiles(["/b"])
        let time = ManualTime()
        let files = UnresponsiveFiles(patience: 1, time: time, probe: disk.read)
        _ = try await among(files, ["/b"]) {
            #expect(await until { disk.hangingCount == 1 })
            time.advance(by: .seconds(2))
        }
        #expect(files.paths == ["/b"])
        disk.release()
        #expect(await until { files.paths.isEmpty })
    }

    @Test("that are remembered or excluded are listed without being touched")
    func remembered() async throws {
        let disk = HangingFiles([])
        let files = UnresponsiveFiles(
            patience: 1,
            remembered: ["/a"],
            reasons: ["/b": "crashes"],
            time: ManualTime(),
            probe: disk.read
        )
        #expect(try await among(files, ["/a", "/b", "/c"]) {} == ["/a", "/b"])
        #expect(disk.triedPaths == ["/c"] && files.reason(for: "/b").text == "crashes")
    }

    @Test("are waited for no longer once the run is cancelled")
    func cancelled() async throws {
        let disk = HangingFiles(["/a"])
        defer { disk.release() }
        let files = UnresponsiveFiles(patience: 1, time: ManualTime(), probe: disk.read)
        let flag = CancellationFlag()
        await #expect(throws: CancelledError.self) {
            try await among(files, ["/a"], flag: flag) {
                #expect(await until { disk.hangingCount == 1 })
                flag.cancel()
            }
        }
    }

    @Test("are not looked for where no time was given")
    func disabled() async throws {
        let disk = HangingFiles([])
        let files = UnresponsiveFiles(patience: nil, remembered: ["/a"], time: ManualTime(), probe: disk.read)
        #expect(try await among(files, ["/a", "/b"]) {}.isEmpty && disk.triedPaths.isEmpty)
    }
}
