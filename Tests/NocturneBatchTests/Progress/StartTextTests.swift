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

    @Test("Skipped inputs are grouped by their reasons, the most frequent first")
    func skips() {
        var reasons: [String: FirstNames] = [:]
        let counts = ["a photo": 3, "too small": 2]
        for reason in Array("bcdefghijk").map(String.init) + counts.keys {
            for number in 1...(counts[reason] ?? 1) { reasons[reason, default: FirstNames()].add("item\(number)") }
        }
        let lines = StartText.skips(reasons)
        #expect(
            lines.prefix(3) == [
                "3 skipped (item1, item2 and 1 more): a photo", "2 skipped (item1, item2): too small",
                "item1 skipped: b",
            ]
        )
        #expect(lines.count == 11 && lines.last == "2 skipped for other reasons: batch.json names all of them")
        #expect(StartText.skips([:]).isEmpty)
    }

    @Test("A sign of life says whether the run works, waits or is paused")
    func heartbeats() {
        var status = ProgressStatus()
        #expect(EventText.line(BatchEvent(.heartbeat), status) == "[0/0] working")
        status.isWaiting = true
        #expect(EventText.line(BatchEvent(.heartbeat), status) == "[0/0] waiting")
        status.pause = "until 18:00"
        #expect(EventText.line(BatchEvent(.heartbeat), status) == "[0/0] paused")
    }

    @Test("Items that end have a line each, and inputs skipped while they are read; what a run was stopped at has none")
    func lines() {
        let status = ProgressStatus()
        var completed = BatchEvent(.itemCompleted, item: "few")
        completed.seconds = 0.5
        #expect(EventText.line(completed, status) == "[0/0] few completed in 0.5 s")
        completed.objects = ["box": 1, "book": 5]
        #expect(EventText.line(completed, status) == "[0/0] few completed in 0.5 s: 5 × book, 1 × box")
        let skipped = BatchEvent(.itemSkipped, item: "a", reason: "no image")
        #expect(EventText.line(skipped, status) == "[0/0] a skipped: no image")
        let stopped = BatchEvent(.itemInterrupted, item: "a", reason: "interrupted")
        #expect(EventText.line(stopped, status) == nil)
        let paused = BatchEvent(.itemInterrupted, item: "a", reason: "its memory released")
        #expect(EventText.line(paused, status) == "a stopped: its memory released")
        #expect(EventText.line(BatchEvent(.itemFailed, item: "b", reason: "bad"), status) == "[0/0] b FAILED: bad")
        var clash = BatchEvent(.itemFailed, item: "b-02e1b7", reason: "bad")
        clash.path = "in/b.nii"
        #expect(EventText.line(clash, status) == "[0/0] b-02e1b7 (in/b.nii) FAILED: bad")
    }

    @Test("Local time of a moment")
    func localTime() {
        let text = WallTime(seconds: 1_700_000_000).localText
        #expect(text.count == 19 && text.hasPrefix("2023-11-1"))
        #expect(text.dropFirst(10).first == " " && text.hasSuffix(":20"))
    }
}
