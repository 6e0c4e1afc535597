import NocturneBatch
import Testing

@Suite("Room in the machine's memory")
struct MemoryAvailabilityTests {
    @Test(
        "is waited for when others will give it back, and not when only this process could",
        arguments: [
            // There is room.
            (10, 10, 100, 5, false, false),
            (10, 10, 100, 5, true, false),
            // A hog holds it.
            (10, 9, 100, 5, false, true),
            (10, 0, 100, 90, false, true),
            // Without the hog it would not fit either: it is tried now or never.
            (10, 0, 100, 91, false, false),
            (200, 90, 100, 5, false, false),
            // What is in flight will end.
            (10, 0, 100, 99, true, true),
            (200, 90, 100, 5, true, true),
        ]
    )
    func waiting(bytes: Int, available: Int, limit: Int, resident: Int, isAmongOthers: Bool, expected: Bool) {
        let need = MemoryAvailability.Need(
            bytes: bytes,
            available: available,
            limit: limit,
            resident: resident,
            isAmongOthers: isAmongOthers
        )
        #expect(need.isWorthWaiting == expected)
    }
}
