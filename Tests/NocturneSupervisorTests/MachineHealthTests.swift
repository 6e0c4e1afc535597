import NocturneSupervisor
import Testing

@Suite("The health of the machine")
struct MachineHealthTests {
    @Test("names the processor as Linux does")
    func processor() {
        let text = "processor\t: 0\nmodel name\t: Made: by Someone (R) 5 GHz\nflags\t: fpu\n\nmodel name\t: Other\n"
        #expect(MachineHealth.processorName(text) == "Made: by Someone (R) 5 GHz")
        // Not every architecture has the line.
        #expect(MachineHealth.processorName("processor\t: 0\nBogoMIPS\t: 50\n") == nil)
    }
}
