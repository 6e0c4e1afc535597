import Foundation
import NocturneBatch
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("The trace of discovery")
struct DiscoveryTraceTests {
    @Test("What each thread read last is there for the next engine")
    func threads() throws {
        let folder = try TemporaryFolder("trace")
        let path = folder("looks").path
        let trace = DiscoveryTrace(folder: path)
        func read(_ lists: [[String]]) {
            let done = DispatchSemaphore(value: 0)
            let thread = Thread {
                for list in lists { trace.willRead(list) }
                done.signal()
            }
            thread.start()
            done.wait()
        }
        read([["/in/a much longer name than the next one"], ["/in/b", "/in/ü"]])
        #expect(DiscoveryTrace.lastRead(in: path) == [["/in/b", "/in/ü"]])
        trace.willRead(["/in/c"])
        #expect(Set(DiscoveryTrace.lastRead(in: path)) == [["/in/b", "/in/ü"], ["/in/c"]])
    }

    @Test("After its end, or when it was removed, nothing is left")
    func end() throws {
        let folder = try TemporaryFolder("trace")
        let path = folder("looks").path
        let trace = DiscoveryTrace(folder: path)
        trace.willRead(["/in/a"])
        trace.end()
        #expect(DiscoveryTrace.lastRead(in: path).isEmpty)
        trace.willRead(["/in/b"])
        #expect(DiscoveryTrace.lastRead(in: path) == [["/in/b"]])
        trace.remove()
        #expect(DiscoveryTrace.lastRead(in: path).isEmpty && !FileSystem.exists(path))
    }

    @Test("A new trace removes what an earlier one left, and one without a folder writes nothing")
    func fresh() throws {
        let folder = try TemporaryFolder("trace")
        let path = folder("looks").path
        DiscoveryTrace(folder: path).willRead(["/in/a"])
        #expect(DiscoveryTrace.lastRead(in: path) == [["/in/a"]])
        let next = DiscoveryTrace(folder: path)
        #expect(DiscoveryTrace.lastRead(in: path).isEmpty)
        next.willRead([])
        #expect(DiscoveryTrace.lastRead(in: path).isEmpty)
        DiscoveryTrace().willRead(["/in/b"])
        #expect(FileSystem.entries(folder.path) == ["looks"])
    }

    @Test(
        "A record that a crash cut off is not taken for one",
        arguments: ["", "5", "5\n", "5\n/in", "x\n/in/a", "-3\n/in/a", "0\n", "99999999999999999999\n/in/a"]
    )
    func damaged(content: String) throws {
        let folder = try TemporaryFolder("trace")
        try folder.write(content, to: "0")
        #expect(DiscoveryTrace.lastRead(in: folder.path).isEmpty)
    }
}
