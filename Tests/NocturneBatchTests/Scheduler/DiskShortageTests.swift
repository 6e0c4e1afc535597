import NocturneBatch
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Disk space")
struct DiskShortageTests {
    @Test(
        "What is said names the figures and the cause",
        arguments: [
            (2 << 20, 1 << 20, nil, "is full: 1 MiB free, about 2 MiB needed"),
            (1 << 20, 2 << 20, .quota, "has reached a quota: 1 MiB may be needed"),
            (1 << 20, 2 << 20, .files(3), "is full: 3 more files can be made, though 2 MiB are free"),
            (1 << 20, 2 << 20, .full, "has refused to write, though 2 MiB are free"),
            (1 << 20, 2 << 20, nil, "has refused to write, though 2 MiB are free"),
        ] as [(Int, Int, DiskRefusal?, String)]
    )
    func text(needed: Int, free: Int, refusal: DiskRefusal?, text: String) {
        #expect(DiskShortage(neededBytes: needed, freeBytes: free, refusal: refusal).description == text)
    }

    @Test("The disk is named where there are two")
    func place() {
        let shortage = DiskShortage(neededBytes: 2 << 20, freeBytes: 1 << 20, refusal: nil, place: "/scratch")
        #expect("\(shortage)" == "is full: 1 MiB free, about 2 MiB needed in /scratch")
    }

    @Test("The pause doubles with each refusal, up to a minute")
    func pauses() {
        let pauses = (0...9).map { DiskShortage.pause(afterRefusals: $0).components.seconds }
        #expect(pauses == [0, 1, 2, 4, 8, 16, 32, 60, 60, 60])
    }
}

@Suite("FolderWatcher")
struct FolderWatcherTests {
    @Test(
        "The pause between two rounds suits the quiet time, the search and failures",
        arguments: [
            (60, 0.1, 0, 15), (60, 3, 0, 30), (60, 100, 0, 60), (600, 0.1, 0, 30), (0, 5, 0, 1),
            (60, 0.1, 3, 15), (60, 0.1, 6, 64), (60, 0.1, 12, 300),
        ]
    )
    func pause(quiet: Int, search: Double, failures: Int, expected: Int) {
        let pause = FolderWatcher(quietSeconds: quiet).pause(afterSearch: .seconds(search), failures: failures)
        #expect(pause == .seconds(expected))
    }
}
