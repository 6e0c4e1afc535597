import NocturneSystem
import Testing

@Suite("ProcessMemory")
struct ProcessMemoryTests {
    static let status = Array("Name:\tVmRSS: 7 kB\nVmPeak: 99999 kB\nVmHWM:\t   2048 kB\nVmRSS:\t\t 12 kB\nVmX:\n".utf8)

    @Test(
        "a line of the system's status gives bytes, anything else 0",
        arguments: [("VmRSS:", 12 << 10), ("VmHWM:", 2 << 20), ("VmSwap:", 0), ("VmX:", 0), ("Name:", 0)]
    )
    func reads(name: String, bytes: Int) {
        #expect(MemoryReading.statusBytes(name, in: ProcessMemoryTests.status) == bytes)
    }

    @Test("a process has memory, and had no less at its peak")
    func isThere() {
        let memory = MemoryReading.ofProcess()
        #expect(memory.resident > 1 << 20 && memory.peak >= memory.resident)
    }
}
