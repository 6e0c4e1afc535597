import NocturneSystem
import Testing

@Suite("Rounded values")
struct RoundedValueTests {
    @Test(
        "have six decimal places, or six significant digits of their scale where that is finer",
        arguments: [
            (1234.567_890_12, 2000, 1234.567_89), (0.123_456_78, 1, 0.123_457), (1e-17, 1000, 0), (0, 0, 0),
            (0.012_345_678_9, 0.05, 0.012_345_7), (-7.123_456_7e-10, 9e-10, -7.123_46e-10), (1e-12, 9e-10, 1e-12),
            (1.4e-16, 9e-10, 0), (1e-300, 1e-300, 1e-300),
        ] as [(Double, Double, Double)]
    )
    func places(_ value: Double, _ scale: Double, _ expected: Double) {
        let rounded = value.roundedForResults(scale: scale)
        #expect(abs(rounded - expected) <= 1e-15 * abs(expected))
    }
}
