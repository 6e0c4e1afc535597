import NocturneSystem
import Testing

@Suite("ProcessMemory")
struct ProcessMemoryTests {
    static let status = "Name:\tVmRSS: 7 kB\nVmPeak: 99999 kB\nVmHWM:\t   2048 kB\nVmRSS:\t\t 12 kB\nVmX:\n"

    @Test(
        "a line of the system's status gives bytes, anything else nothing",
        arguments: [("VmRSS:", 12 << 10), ("VmHWM:", 2 << 20), ("VmSwap:", nil), ("VmX:", nil), ("Name:", nil)]
            as [(String, Int?)]
    )
    func reads(name: String, bytes: Int?) {
        #expect(MemoryReading.bytes(of: name, in: ProcessMemoryTests.status) == bytes)
    }

    @Test("a process has memory, and had no less at its peak")
    func isThere() {
        let memory = MemoryReading.ofProcess()
        #expect(memory.resident > 1 << 20 && memory.peak >= memory.resident)
    }
}
