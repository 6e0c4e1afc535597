internal import Glibc
import NocturneConcurrency
internal import NocturneCore
import NocturneSystem

/// Measures how fast the builtin engine runs a network on this machine.
public struct NetworkBenchmark: Sendable {
    /// What was measured. Seconds are those of a clock on the wall, unless stated otherwise.
    public struct Timings: Sendable, Codable {
        /// Its name.
        public var engine: String
        /// The one that was asked for.
        public var precision: InferencePrecision
        /// That of the kernels.
        public var instructionSet: String
        /// That shared each run.
        public var threads: Int
        /// Spatial extents of the input, as given.
        public var patch: [Int]
        /// Time for reading the file, planning, and packing weights.
        public var loadSeconds: Double
        /// Time of each run, in order. The first run also allocates the workspace's pages.
        public var seconds: [Double]
        /// Processor time of all threads of the process for each run; other work on the machine hardly affects it.
        public var processorSeconds: [Double]
        /// The smallest of ``seconds``.
        public var bestSeconds: Double
        /// Floating-point operations of the convolutions; a multiply-add counts as two.
        public var convolutionOperations: Double
        /// ``convolutionOperations`` by ``bestSeconds``, in 1e9 per second.
        public var gigaflopsPerSecond: Double
        /// Mapped for activations and scratch.
        public var workspaceBytes: Int
        /// As read and as packed.
        public var weightBytes: Int
        /// The fastest time of every step, in execution order; titles are those of the graph.
        public var steps: [Step]
        /// Where the time goes, if that was asked for.
        public var profile: NetworkProfile?
    }

    /// A step of the plan.
    public struct Step: Sendable, Codable {
        /// What it computes, such as "convolution 3x3x3 32>64".
        public var title: String
        /// Of its fastest run.
        public var seconds: Double
    }

    private let path: String
    private let patch: [Int]
    private let threads: Int
    private let repeats: Int
    /// The precision requested from the engine.
    public var precision = InferencePrecision.float32
    /// Whether to measure the peak of the machine after the runs, for ``Timings/profile``: takes about three seconds, and 512
    /// MiB of memory at most.
    public var profiles = false
    /// The engine's configuration; see ``BuiltinEngine/init(environment:)``. `NOCTURNE_BENCH_OUTPUT` is a file to which the
    /// values of the first output are written, as float32 in the machine's byte order.
    public var environment: [String: String] = [:]

    /// - Parameters:
    ///   - patch: spatial extents of the first input; its channels are taken from the file, the batch is 1.
    ///   - threads: width of the pool that is created for it.
    ///   - repeats: number of runs; at least one is made.
    public init(onnx path: String, patch: [Int], threads: Int, repeats: Int) {
        self.path = path
        self.patch = patch
        self.threads = threads
        self.repeats = max(repeats, 1)
    }

    /// Runs the network on noise (from a fixed seed).
    /// - Throws: ``ModelFormatError``, `AllocationError`, `FileSystemError`.
    public func run() async throws -> Timings {
        try await ComputeScope.withPool(of: max(threads, 1)) { scope in
            let result = try measure(scope)
            if let file = environment["NOCTURNE_BENCH_OUTPUT"] {
                try result.output?.withUnsafeBufferPointer {
                    try FileSystem.write(file, Array(UnsafeRawBufferPointer($0)))
                }
            }
            return result.timings
        }
    }

    private func measure(_ scope: ComputeScope) throws -> (timings: Timings, output: FrozenVoxels<Float>?) {
        let engine = BuiltinEngine(environment: environment)
        let clock = ContinuousClock()
        let start = clock.now
        let network = try engine.load(onnx: path, precision: precision)
        guard let input = network.inputs.first, input.shape.count == patch.count + 2, let channels = input.shape[1]
        else {
            throw ModelFormatError.shapeMismatch(
                network: path,
                reason: "the first input does not take a patch of \(patch.count) axes"
            )
        }
        let shape = [1, channels] + patch
        let session = try network.makeSession(inputShape: shape, width: scope.width)
        guard let builtin = session.runner as? BuiltinRunner, let result = session.outputShapes[network.outputs[0].name]
        else {
            throw ModelFormatError.shapeMismatch(network: path, reason: "there is no output")
        }
        // Loading ends here: the weights are packed when the session is made.
        let loaded = clock.now
        let runs = try Runs(of: session, builtin, input: shape, output: result, repeats: repeats, scope: scope)
        let best = runs.seconds.min() ?? 0
        let timings = Timings(
            engine: engine.name,
            precision: precision,
            instructionSet: network.instructionSet,
            threads: scope.width,
            patch: patch,
            loadSeconds: start.duration(to: loaded) / .seconds(1),
            seconds: runs.seconds,
            processorSeconds: runs.processorSeconds,
            bestSeconds: best,
            convolutionOperations: builtin.convolutionOperations,
            gigaflopsPerSecond: best > 0 ? builtin.convolutionOperations / best / 1e9 : 0,
            workspaceBytes: session.workspaceBytes,
            weightBytes: network.weightBytes,
            steps: runs.steps,
            profile: profiles ? try Self.profile(of: builtin, runs.steps, network, scope) : nil
        )
        return (timings, runs.output)
    }

    private static func profile(
        of session: BuiltinRunner,
        _ steps: [Step],
        _ network: any LoadedNetwork,
        _ scope: ComputeScope
    ) throws -> NetworkProfile {
        let works = session.stepWorks
        let peak = try MachinePeak.measure(
            instructions: (network as? BuiltinNetwork)?.arithmetic.instructions ?? 0,
            bfloat16: works.contains { $0.operands == .bfloat16 },
            effort: .usual,
            scope: scope
        )
        return NetworkProfile(titles: steps.map(\.title), works: works, seconds: steps.map(\.seconds), peak: peak)
    }

    /// The measurements of several runs.
    private struct Runs {
        private(set) var seconds: [Double] = []
        private(set) var processorSeconds: [Double] = []
        private(set) var steps: [Step] = []
        /// The values of the last run.
        private(set) var output: FrozenVoxels<Float>?

        /// Runs a session on noise of the input's shape.
        init(
            of session: NetworkSession,
            _ runner: BuiltinRunner,
            input: [Int],
            output: [Int],
            repeats: Int,
            scope: ComputeScope
        ) throws {
            let noise = try NetworkBenchmark.noise(count: input.reduce(1, *))
            var result = try VoxelBuffer<Float>(count: output.reduce(1, *))
            let clock = ContinuousClock()
            for _ in 0..<repeats {
                runner.stepSeconds = []
                let begin = clock.now
                let processorBegin = processorTime()
                try noise.withUnsafeBufferPointer { input in
                    try result.withUnsafeMutableBufferPointer { output in
                        try session.run(input: input, output: output, scope: scope)
                    }
                }
                seconds.append(begin.duration(to: clock.now) / .seconds(1))
                processorSeconds.append(processorTime() - processorBegin)
                // The fastest time of each step over all runs, not the steps of the fastest run: noise of the machine affects
                // single steps.
                recordFastest(of: runner.stepTitles, runner.stepSeconds ?? [])
            }
            self.output = result.frozen()
        }

        private mutating func recordFastest(of titles: [String], _ times: [Double]) {
            if steps.isEmpty {
                steps = zip(titles, times).map { Step(title: $0, seconds: $1) }
            } else {
                for (index, time) in times.enumerated() { steps[index].seconds = min(steps[index].seconds, time) }
            }
        }
    }

    /// Values between -1 and 1 from a fixed seed.
    private static func noise(count: Int) throws -> VoxelBuffer<Float> {
        var noise = try VoxelBuffer<Float>(count: count)
        // Knuth's linear congruential generator MMIX. Of its 64 bits only the 24 highest are used: the low ones have short
        // periods, and 24 are what a float32 holds.
        var state: UInt64 = 0x9E37_79B9_7F4A_7C15
        for index in 0..<noise.count {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            noise[index] = Float(state >> 40) / 8_388_608 - 1
        }
        return noise
    }

    /// Seconds of all threads of the process since it started.
    private static func processorTime() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
    }
}
