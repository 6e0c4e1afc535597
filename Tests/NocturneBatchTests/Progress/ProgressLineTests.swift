import Foundation
import NocturneBatch
import Testing

@Suite("The progress line")
struct ProgressLineTests {
    private func item(_ name: String, _ stage: Stage, _ share: Double) -> RunProgress.Item {
        RunProgress.Item(
            item: name,
            stage: stage,
            isWaiting: name == "waiting",
            share: share,
            stageSeconds: 7,
            elapsedSeconds: 12,
            etaSeconds: share == 0.52 ? 9 : nil
        )
    }

    private func status(_ name: String = "sub-0042_ses-20240117_acq-venous_run-01_CT") -> ProgressStatus {
        var status = ProgressStatus()
        status.total = 33
        status.done = 11
        status.failed = 2
        status.running = [item("written", .write, 1), item(name, .infer, 0.52), item("waiting", .load, 0)]
        status.etaSeconds = 2640
        status.elapsedSeconds = 125
        return status
    }

    @Test("never fills a line of any width", arguments: 1...200)
    func width(columns: Int) {
        let text = ProgressLine.text(status(), columns: columns)
        #expect(text.count < max(columns, 24), "\(text)")
        #expect(text.contains("11/33"))
    }

    @Test("says at 60, 80 and 120 columns how far the run is, and which item is at work")
    func content() {
        let counts = "11/33, 2 failed, about 44 min left"
        #expect(ProgressLine.text(status(), columns: 60) == "███░░░░░ \(counts)  sub-…1_CT 52 %")
        let eighty = ProgressLine.text(status(), columns: 80)
        #expect(eighty == "███░░░░░ \(counts), 2 min so far  sub-004…n-01_CT 52 %", "\(eighty)")
        let wide = ProgressLine.text(status(), columns: 120)
        #expect(wide.hasSuffix("\(counts), 2 min so far  sub-0042_ses-20240117_acq-venous_run-01_CT 52 %"), "\(wide)")
    }

    @Test("says since when the run is paused")
    func pause() {
        var status = status()
        status.pause = "since 2026-11-24 13:00:00"
        let line = ProgressLine.text(status, columns: 80)
        #expect(line.contains("11/33, 2 failed, paused since 2026-11-24 13:00:00"), "\(line)")
    }

    @Test("has throughput and memory where there is room, and says at any width when memory is short")
    func memory() throws {
        func memory(_ pressure: String) throws -> RunProgress.Memory {
            let text =
                #"{"residentBytes":2147483648,"leasedBytes":0,"budgetBytes":8589934592,"pressure":"\#(pressure)"}"#
            return try JSONDecoder().decode(RunProgress.Memory.self, from: Data(text.utf8))
        }
        var status = status()
        status.ended = 5
        status.memory = try memory("normal")
        let wide = ProgressLine.text(status, columns: 120)
        #expect(wide.contains("2 min so far, 2.4 items/min, 2 GiB of 8 GiB  sub-"), "\(wide)")
        #expect(!ProgressLine.text(status, columns: 100).contains("GiB"))
        status.memory = try memory("critical")
        for columns in [60, 80, 120] {
            #expect(ProgressLine.text(status, columns: columns).contains("left, memory is short"))
        }
        status.ended = 600
        #expect(ProgressLine.text(status, columns: 140).contains("4.8 items/s"))
        status.ended = 1
        status.elapsedSeconds = 1000
        #expect(ProgressLine.text(status, columns: 140).contains("3.6 items/h"))
    }

    @Test("shows the first item while none has begun its tiles, and no control sequence of a name")
    func items() {
        var status = status("bad\u{1B}[2Jname")
        #expect(!ProgressLine.text(status, columns: 120).unicodeScalars.contains("\u{1B}"))
        status.running = [item("first", .infer, 0), item("second", .load, 0)]
        #expect(ProgressLine.text(status, columns: 120).contains("first 0 %"))
        status.running = []
        status.total = 0
        #expect(ProgressLine.text(status, columns: 120).contains("11/0"))
    }

    @Test("is erased whole when the terminal became narrower")
    func erasing() {
        #expect(ProgressLine.erasing([79], columns: 80) == "\r\u{1B}[K")
        #expect(ProgressLine.erasing([79], columns: 40) == "\r\u{1B}[K\u{1B}[A\u{1B}[K")
        #expect(ProgressLine.erasing([81], columns: 40) == "\r\u{1B}[K\u{1B}[A\u{1B}[K\u{1B}[A\u{1B}[K")
        #expect(ProgressLine.erasing([5], columns: 0) == "\r\u{1B}[K")
        #expect(ProgressLine.erasing([79, 40], columns: 40) == "\r\u{1B}[K\u{1B}[A\u{1B}[K\u{1B}[A\u{1B}[K")
        #expect(ProgressLine.erasing([], columns: 40).isEmpty)
    }

    @Test("of a large terminal has a line for each item at work, with its stage")
    func itemLines() {
        let status = status("sub-0042")
        let lines = ItemLines.text(status.running, columns: 80, rows: 24)
        #expect(
            lines == [
                "  written   write    ██████████ 100 %  7.0 s",
                "  sub-0042  infer    █████░░░░░  52 %  7.0 s, about 9.0 s left",
                "  waiting   waiting  ░░░░░░░░░░   0 %  7.0 s",
            ]
        )
        #expect(!ProgressLine.text(status, columns: 80, namesItem: false).contains("sub-0042"))
        #expect(ItemLines.text(status.running, columns: 59, rows: 24).isEmpty)
        #expect(ItemLines.text(status.running, columns: 80, rows: 9).isEmpty)
    }

    @Test("shows four items at most, with long names shortened, and never fills a line", arguments: 60...160)
    func manyItems(columns: Int) {
        let name = "sub-0042_ses-20240117_acq-venous_run-01_CT_" + String(repeating: "x", count: 80)
        let items = [item(name, .infer, 0.52)] + (0..<5).map { item("bad\u{1B}[2J\($0)", .prepare, 0) }
        let lines = ItemLines.text(items, columns: columns, rows: 40)
        #expect(lines.count == 5 && lines.last == "  and 2 more")
        #expect(lines.allSatisfy { $0.count < columns && !$0.unicodeScalars.contains("\u{1B}") })
    }

    @Test("counts the share of an item's time, by what its stages took of the items before it")
    func stageWeights() {
        var weights = StageWeights()
        #expect(weights.share(in: .load, tiles: 0, elapsed: 9) == 0)
        #expect(abs(weights.share(in: .infer, tiles: 0.5, elapsed: 9) - 0.475) < 1e-12)
        #expect(abs(weights.share(in: .finish, tiles: 1, elapsed: 0) - 0.85) < 1e-12)
        for _ in 0..<2 { weights.add([.load: 1, .infer: 6, .write: 3]) }
        #expect(weights.share(in: .load, tiles: 0, elapsed: 0.5) == 0.05)
        #expect(weights.share(in: .infer, tiles: 0.5, elapsed: 60) == 0.4)
        // A stage that takes longer than before does not count beyond its end.
        #expect(weights.share(in: .write, tiles: 1, elapsed: 60) == 1)
        #expect(weights.share(in: .render, tiles: 1, elapsed: 60) == 0.7)
    }
}
