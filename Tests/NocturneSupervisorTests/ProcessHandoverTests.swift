import Foundation
import NocturneSupervisor
import Testing

@Suite("The hand-over between processes")
struct ProcessHandoverTests {
    @Test(
        "survives the environment",
        arguments: [
            ProcessHandover.detachedSupervisor(readyDescriptor: 7, isConfirmed: true),
            .changePreview,
            .engine(EngineHandover(run: "12 since yesterday")),
            .engine(
                EngineHandover(
                    run: "\"ü\n=",
                    previousEnd: "signal 9 (Killed)",
                    lockDescriptor: 3,
                    ignoresHangUp: true,
                    readyDescriptor: 4
                )
            ),
        ]
    )
    func roundTrip(handover: ProcessHandover) throws {
        let environment = handover.environment(["PATH": "/bin", "SWIFT_BACKTRACE": "mine"])
        #expect(environment["PATH"] == "/bin" && environment["SWIFT_BACKTRACE"] == "mine")
        #expect(environment.count == 3)
        let text = try #require(environment[ProcessHandover.variable])
        #expect(ProcessHandover(text: text) == handover)
    }

    @Test("is nothing that a person sets by chance", arguments: ["", "1", "{}", "[]", "{\"engine\":{}}", "engine"])
    func garbage(text: String) { #expect(ProcessHandover(text: text) == nil) }
}
