import NocturneInference
import Testing

@Suite("Instruction sets of this machine")
struct InstructionSetTests {
    @Test(
        "The best one within a limit is available, and no better one is",
        arguments: [nil] + InstructionSets.names.map { Optional($0) }
    )
    func best(limit: String?) throws {
        let environment = limit.map { [InstructionSets.variable: $0] } ?? [:]
        let best = InstructionSets.best(environment: environment)
        let place = try #require(InstructionSets.names.firstIndex(of: best))
        let available = InstructionSets.names.indices.filter {
            InstructionSets.isAvailable(InstructionSets.names[$0], environment: environment)
        }
        #expect(available == Array(0...place))
    }
}
