import NocturneConcurrency
import NocturneSystem
import Testing

@Suite("ByteCount")
struct ByteCountTests {
    // Figures, since the compiler gives up on a list of shifts.
    static let readings: [(String, Int)] = [
        ("8G", 8_589_934_592), ("2GiB", 2_147_483_648), ("512M", 536_870_912), ("1.5 gb", 1_610_612_736),
        ("64KiB", 65_536), ("3T", 3_298_534_883_328), ("1000", 1000), ("7B", 7), (" 12 M ", 12_582_912),
        ("0.5k", 512), ("1tib", 1_099_511_627_776),
    ]

    static let writings: [(Int, String)] = [
        (0, "0 B"), (1023, "1023 B"), (1024, "1 KiB"), (1536, "1.5 KiB"), (1_048_576, "1 MiB"),
        (1_048_575, "1 MiB"), (8_589_934_592, "8 GiB"), (5_497_558_138_880, "5 TiB"),
        (2_251_799_813_685_248, "2048 TiB"), (-1536, "-1.5 KiB"), (1_048_000, "1023.4 KiB"),
    ]

    @Test("sizes are read in binary units", arguments: readings)
    func reads(text: String, bytes: Int) { #expect(ByteCount(text)?.bytes == bytes) }

    @Test(
        "anything else is refused",
        arguments: [
            "", " ", "G", "8X", "-1G", "+1G", "1e3", "8 G B", "1 2G", "0", "0G", "1.5", "1.", ".5G", "1..5G", "1.5.5G",
            "99999999999999999999", "9999999999999T", "4194304T", "0x10", "8GG", "8iB", "٣G", "nan", "1,5G",
        ]
    )
    func refuses(text: String) { #expect(ByteCount(text) == nil) }

    @Test("sizes are written with at most one decimal", arguments: writings)
    func writes(bytes: Int, text: String) { #expect(ByteCount(bytes).description == text) }

    @Test("whole units come back unchanged")
    func roundTrip() {
        for shift in [10, 20, 30, 40] {
            for factor in [1, 3, 512, 1000] {
                let count = ByteCount(factor << shift)
                #expect(ByteCount(count.description) == count)
            }
        }
        #expect(ByteCount(1) < ByteCount(2))
    }
}
