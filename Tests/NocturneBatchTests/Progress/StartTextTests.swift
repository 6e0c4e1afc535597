import NocturneBatch
import NocturneJournal
import NocturneOutput
import NocturneSystem
import Testing

@Suite("StartText")
struct StartTextTests {
    @Test("What is to be processed, and with what")
    func work() {
        var counts = BatchCounts()
        (counts.inputs, counts.notReached) = (3, 3)
        #expect(
            StartText.work(counts, queued: 3, threads: 1, memoryBytes: 1 << 30)
                == "3 of 3 inputs are to be processed, with 1 thread and 1 GiB of memory."
        )
        (counts.inputs, counts.completed, counts.skipped) = (30, 25, 2)
        #expect(
            StartText.work(counts, queued: 3, threads: 4, memoryBytes: 3 << 29)
                == "3 of 30 inputs are to be processed (25 completed, 2 skipped), with 4 threads and 1.5 GiB of memory."
        )
    }

    @Test("Many skipped inputs are grouped by their reasons, the most frequent first")
    func skips() {
        #expect(StartText.skips(["a": StartText.shownSkips]) == nil)
        let reasons = ["b": 1, "c": 1, "d": 1, "e": 1, "f": 1, "g": 1, "neither": 30]
        #expect(
            StartText.skips(reasons)
                == "36 inputs are skipped, of which 20 are shown here: 30 × neither; 1 × b; 1 × c; 1 × d; 1 × e; "
                + "2 for other reasons. batch.json and events.jsonl name all of them."
        )
    }

    @Test("A line of a skipped input is left out once enough are shown, and never that of a failure")
    func lines() {
        var status = ProgressStatus()
        status.skipped = StartText.shownSkips
        let skip = BatchEvent(.itemSkipped, item: "a", reason: "no image")
        #expect(EventText.line(skip, status) == "a skipped: no image")
        status.skipped += 1
        #expect(EventText.line(skip, status) == nil)
        #expect(EventText.line(BatchEvent(.itemFailed, item: "b", reason: "bad"), status) == "[0/0] b FAILED: bad")
    }

    @Test("Local time of a moment")
    func localTime() {
        let text = WallTime(seconds: 1_700_000_000).localText
        #expect(text.count == 19 && text.hasPrefix("2023-11-1"))
        #expect(text.dropFirst(10).first == " " && text.hasSuffix(":20"))
    }
}
