import NocturneBatch
import NocturneOutput
import NocturneRecipes
import NocturneTestSupport
import Testing

@Suite("Models that a restarted engine does not find")
struct PackageWaitingTests {
    private let time = ManualTime(advancesItself: true)
    private let control = RunControl()
    private let missing = BatchError(.modelUnusable, path: "/models/a", detail: "there is no model.json")

    @Test("They are waited for, and the reason is given once")
    func comesBack() async throws {
        var (attempts, notes) = (0, [String]())
        let loaded = try await LoadedModels.awaitingPackages(nil, control, time, note: { notes.append($0) }) {
            attempts += 1
            if attempts < 5 { throw missing }
            return "loaded"
        }
        #expect(loaded == "loaded" && attempts == 5)
        #expect(notes.count == 1 && notes[0].contains("/models/a") && notes[0].contains("waiting"))
        #expect(time.monotonic == .seconds(4))
    }

    @Test("The wait ends with the error after its patience, with a stop, and at once for other errors")
    func ends() async throws {
        let (control, time, missing) = (control, time, missing)
        func attempt(_ error: BatchError, _ patience: Duration?) async -> BatchError? {
            await #expect(throws: BatchError.self) {
                try await LoadedModels.awaitingPackages(patience, control, time, note: { _ in }) { throw error }
            }
        }
        #expect(await attempt(missing, .seconds(60))?.path == "/models/a")
        #expect(time.monotonic == .seconds(60))
        #expect(await attempt(BatchError(.inputMissing, path: "in", detail: ""), nil)?.code == .inputMissing)
        control.cancel()
        #expect(await attempt(missing, nil)?.code == .modelUnusable)
        #expect(time.monotonic == .seconds(60))
    }
}
