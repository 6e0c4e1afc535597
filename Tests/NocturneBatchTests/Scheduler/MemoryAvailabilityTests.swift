import NocturneBatch
import NocturneSystem
import Testing

@Suite("Memory of the machine")
struct MemoryAvailabilityTests {
    @Test(
        "is waited for when others will give it back, and not when only this process could",
        arguments: [
            // There is enough.
            (10, 10, 100, 5, false, false),
            (10, 10, 100, 5, true, false),
            // A hog holds it.
            (10, 9, 100, 5, false, true),
            (10, 0, 100, 90, false, true),
            // Without the hog it would not fit either: it is tried now or never.
            (10, 0, 100, 91, false, false),
            (200, 90, 100, 5, false, false),
            // Active items will end.
            (10, 0, 100, 99, true, true),
            (200, 90, 100, 5, true, true),
        ]
    )
    func waiting(bytes: Int, available: Int, limit: Int, resident: Int, isAmongOthers: Bool, expected: Bool) {
        let memory = MemoryAvailability(
            bytes: bytes,
            reading: MemoryReading(
                systemTotalBytes: limit,
                systemAvailableBytes: available,
                anonymousBytes: resident
            ),
            leasedBytes: 0,
            engineBytes: resident,
            isAmongOthers: isAmongOthers
        )
        #expect((memory.verdict != .fits) == expected)
    }

    @Test("What active items hold is told from what other programs hold")
    func holders() {
        func verdict(available: Int, resident: Int, leased: Int) -> MemoryAvailability.Verdict {
            let reading = MemoryReading(
                systemTotalBytes: 100,
                systemAvailableBytes: available,
                anonymousBytes: resident
            )
            return MemoryAvailability(
                bytes: 40,
                reading: reading,
                leasedBytes: leased,
                engineBytes: 10,
                isAmongOthers: true
            ).verdict
        }
        #expect(verdict(available: 50, resident: 10, leased: 0) == .fits)
        // The active items have yet to take 30 of their leases.
        #expect(verdict(available: 50, resident: 10, leased: 30) == .heldByActiveItems)
        #expect(verdict(available: 20, resident: 30, leased: 20) == .heldByActiveItems)
        #expect(verdict(available: 10, resident: 30, leased: 20) == .heldByOthers(availableBytes: 10))
    }
}
