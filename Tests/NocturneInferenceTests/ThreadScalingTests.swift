import NocturneInference
import NocturneTestSupport
import Testing

@Suite("The time of a network with other numbers of threads")
struct ThreadScalingTests {
    private func scaling(_ steps: (time: Double, parts: Int)...) -> ThreadScaling {
        ThreadScaling(steps.map { ThreadScaling.Loop(time: $0.time, parts: $0.parts) })
    }

    @Test("A step of 16 parts takes one turn of 16 threads, two of 8 to 15, and never less than a part")
    func turns() {
        let step = scaling((16, 16))
        #expect([1, 2, 8, 12, 15, 16, 64].map { step.time(threads: $0) } == [16, 8, 2, 2, 2, 1, 1])
        #expect([1, 2, 8, 16, 64].map { step.efficiency(threads: $0) } == [1, 1, 1, 1, 0.25])
        #expect(step.efficiency(threads: 12) == 16.0 / 24)
    }

    @Test("Steps follow each other")
    func sum() {
        let steps = scaling((6, 6), (10, 1))
        #expect(steps.time(threads: 2) == 13)
        #expect(steps.efficiency(threads: 2) == 16.0 / 26)
        #expect(scaling().efficiency(threads: 8) == 1)
    }

    @Test("Cores are shared by as few processes as use them well")
    func processes() {
        let many = scaling((1, 10_000))
        #expect(many.threadsOfProcess(cores: 64) == 64)
        // 64, 32 and 21 threads would wait; four processes of 16 do not.
        #expect(scaling((16, 16)).threadsOfProcess(cores: 64) == 16)
        #expect(scaling((1, 1)).threadsOfProcess(cores: 64) == 1)
        #expect(scaling((1, 1)).threadsOfProcess(cores: 1) == 1)
    }

    @Test("Times measured with some threads are brought to one thread")
    func measured() {
        var work = StepWork.traffic(.copy, elements: 1)
        work.parts = 3
        // Three parts are two turns of two threads: a part takes 1 s.
        let scaling = ThreadScaling([work], seconds: [2], threads: 2)
        #expect(scaling.time(threads: 1) == 3)
        #expect(scaling.time(threads: 3) == 1)
    }

    @Test("A network's steps have the parts of their loops")
    func network() throws {
        let fixture = try ONNXFixtures.named("unet3d-plain")
        let scaling = try #require(try fixture.load().threadScaling(inputShapes: fixture.shapes))
        #expect(scaling.steps.count > 10)
        #expect(scaling.steps.contains { $0.parts > 1 })
        #expect(scaling.efficiency(threads: 1) == 1)
        #expect(scaling.efficiency(threads: 4096) < 0.1)
    }
}
