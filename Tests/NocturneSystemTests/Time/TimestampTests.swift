import Foundation
import NocturneSystem
import Testing

@Suite("Timestamps as in RFC 3339")
struct TimestampTests {
    @Test(
        "The same moment in any form is the same",
        arguments: [
            "2026-11-29T10:00:00Z", "2026-11-29T10:00:00.000Z", "2026-11-29T11:30:00+01:30",
            "2026-11-28T22:15:00.0-11:45",
        ]
    )
    func moments(text: String) { #expect(Date(timestamp: text)?.timeIntervalSince1970 == 1_795_946_400) }

    @Test("What is written is read")
    func written() {
        let time = WallTime(seconds: 1_772_323_199, nanoseconds: 125_000_000)
        #expect(Date(timestamp: time.timestamp)?.timeIntervalSince1970 == 1_772_323_199.125)
    }

    @Test("A moment in local time names its zone")
    func zone() {
        let time = WallTime(seconds: 1_772_323_199)
        var (seconds, parts) = (time_t(1_772_323_199), tm())
        localtime_r(&seconds, &parts)
        var zone = [CChar](repeating: 0, count: 64)
        let count = strftime(&zone, 64, "%F %T %Z", &parts)
        #expect(time.zonedText == String(decoding: zone.prefix(count).map { UInt8($0) }, as: UTF8.self))
    }

    @Test("Any other text is not a timestamp", arguments: ["", "yesterday", "2026-11-29", "2026-11-29T10:00:00"])
    func others(text: String) { #expect(Date(timestamp: text) == nil) }
}
