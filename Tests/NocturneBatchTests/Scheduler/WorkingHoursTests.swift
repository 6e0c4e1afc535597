import Foundation
import NocturneBatch
import NocturneJournal
import NocturneSystem
import Testing

@Suite("Working hours")
struct WorkingHoursTests {
    private func second(_ words: String) throws -> Int { try #require(WorkingHours.TimeOfDay(words)).minutes * 60 }

    @Test(
        "Text that is not a time is refused",
        arguments: ["", "24:00", "6", "06:60", "6:5:4", "-1:00", "aa:bb", "06:"]
    )
    func refused(words: String) {
        #expect(WorkingHours.TimeOfDay(words) == nil)
        #expect(WorkingHours.Window("20:00-" + words) == nil)
    }

    @Test(
        "A window may reach over midnight",
        arguments: [
            ("20:00-06:00", "19:59", 60), ("20:00-06:00", "20:00", 0), ("20:00-06:00", "23:59", 0),
            ("20:00-06:00", "00:00", 0), ("20:00-06:00", "05:59", 0), ("20:00-06:00", "06:00", 14 * 3600),
            ("08:00-17:30", "07:00", 3600), ("08:00-17:30", "17:29", 0), ("08:00-17:30", "17:30", 52_200),
        ]
    )
    func window(words: String, now: String, wait: Int) throws {
        let hours = WorkingHours(window: WorkingHours.Window(words))
        #expect(hours.secondsUntilOpen(at: try second(now)) == wait)
        #expect(WorkingHours().secondsUntilOpen(at: try second(now)) == 0)
    }

    @Test("The wait depends on the clock that people read, and on the local time")
    func moment() throws {
        let hours = WorkingHours(window: WorkingHours.Window("20:00-06:00"))
        let components = DateComponents(year: 2026, month: 1, day: 14, hour: 19, minute: 59, second: 30)
        let seconds = Int(try #require(Calendar.current.date(from: components)).timeIntervalSince1970)
        #expect(hours.secondsUntilOpen(at: WallTime(seconds: seconds)) == 30)
        #expect(hours.secondsUntilOpen(at: WallTime(seconds: seconds + 30)) == 0)
        #expect(WorkingHours().secondsUntilOpen(at: WallTime(seconds: seconds)) == 0)
    }

    @Test("The deadline is the next such time, a day away when it is just now")
    func deadline() throws {
        let hours = WorkingHours(finishBy: WorkingHours.TimeOfDay("06:00"))
        func left(_ hour: Int, _ minute: Int) throws -> Int? {
            let components = DateComponents(year: 2026, month: 1, day: 14, hour: hour, minute: minute)
            let moment = Int(try #require(Calendar.current.date(from: components)).timeIntervalSince1970)
            return hours.deadline(after: moment).map { $0 - moment }
        }
        #expect(try left(20, 0) == 10 * 3600)
        #expect(try left(5, 59) == 60)
        #expect(try left(6, 0) == 86_400)
        #expect(WorkingHours().deadline(after: 0) == nil)
    }

    @Test("The pace is learned for each model by itself, and later items count more")
    func pace() {
        var pace = LearnedPace()
        #expect(pace.seconds(model: "a", steps: 10) == nil)
        pace.learn(model: "a", seconds: 20, steps: 10)
        #expect(pace.seconds(model: "a", steps: 5) == 10 && pace.seconds(model: "b", steps: 5) == nil)
        pace.learn(model: "a", seconds: 40, steps: 10)
        #expect(pace.seconds(model: "a", steps: 10) == 30)
    }
}
