internal import CNocturneKernels
package import NocturneConcurrency
internal import NocturneCore
internal import NocturneSystem

/// The highest rates of this machine with a number of threads, measured by loops that do nothing else: multiply-adds in
/// registers, and copies between buffers larger than the last-level cache.
///
/// Other work on the machine lowers them. Steps whose tensors fit in the caches can exceed the rate of memory.
public struct MachinePeak: Sendable, Codable, Equatable {
    /// That measured at the same time.
    public var threads: Int
    /// The instructions of the float32 products. Matrix products and attention use the processor's best ones,
    /// whatever the limit of the instruction set.
    public var instructionSet: String
    /// Products of float32, in GFLOP/s; a multiply-add counts as two.
    public var gigaflopsPerSecond: Double
    /// Products of bfloat16 pairs in GFLOP/s, where a network has them.
    public var bfloat16GigaflopsPerSecond: Double?
    /// Bytes read plus bytes written, in GB (1e9 bytes) per second: the faster one of copies through and past the
    /// caches.
    public var gigabytesPerSecond: Double

    /// Rates as measured by ``measure(instructions:bfloat16:effort:scope:)``, or given.
    package init(
        threads: Int,
        instructionSet: String,
        gigaflopsPerSecond: Double,
        bfloat16GigaflopsPerSecond: Double? = nil,
        gigabytesPerSecond: Double
    ) {
        self.threads = threads
        self.instructionSet = instructionSet
        self.gigaflopsPerSecond = gigaflopsPerSecond
        self.bfloat16GigaflopsPerSecond = bfloat16GigaflopsPerSecond
        self.gigabytesPerSecond = gigabytesPerSecond
    }

    /// How long each test takes, and how much memory the copies need.
    package struct Effort: Sendable {
        /// Seconds of one test, of which ``repeats`` are made.
        package var seconds: Double
        /// The fastest one counts.
        package var repeats: Int
        /// Bytes of each of the two buffers.
        package var copiedBytes: Int

        /// - Parameter repeats: at least one test is made.
        package init(seconds: Double, repeats: Int, copiedBytes: Int) {
            self.seconds = seconds
            self.repeats = repeats
            self.copiedBytes = copiedBytes
        }

        /// About three seconds, and two buffers larger than the last-level cache together: 64 to 256 MiB each.
        package static var usual: Effort {
            let bytes = min(max(Int(clamping: nk_peak_cache_bytes()), 64 << 20), 256 << 20)
            return Effort(seconds: 0.2, repeats: 4, copiedBytes: bytes)
        }
    }

    /// Measures on the threads of a scope.
    ///
    /// - Parameters:
    ///   - instructions: one of NK_CONV_ISA_*, with flags, that this processor has.
    ///   - bfloat16: whether products of bfloat16 are measured too, where the instruction set has them.
    /// - Throws: `CancelledError`; ``AllocationError`` where there is no memory for the copies.
    package static func measure(instructions: Int32, bfloat16: Bool, effort: Effort, scope: ComputeScope) throws
        -> MachinePeak
    {
        let kind = nk_peak_kind(instructions, Int32(NK_CONV_PRODUCTS_FLOAT32))
        let pairs = nk_peak_kind(instructions, Int32(NK_CONV_PRODUCTS_BFLOAT16))
        return MachinePeak(
            threads: scope.width,
            instructionSet: String(cString: nk_peak_name(kind)),
            gigaflopsPerSecond: try products(kind, effort, scope),
            bfloat16GigaflopsPerSecond: bfloat16 && pairs >= 0 ? try products(pairs, effort, scope) : nil,
            gigabytesPerSecond: try copies(effort, scope)
        )
    }

    /// GFLOP/s of the fastest test. A test is divided into pieces of about a millisecond, so that a thread that starts
    /// late does not keep the others waiting.
    private static func products(_ kind: Int32, _ effort: Effort, _ scope: ComputeScope) throws(CancelledError)
        -> Double
    {
        let time = scope.time
        // Doubled until a piece takes a millisecond; the limit ends the loop where the clock does not advance.
        var (rounds, seconds): (Int64, Double) = (1 << 12, 0)
        while rounds < 1 << 30 {
            let begin = time.monotonic
            _ = nk_peak_products(kind, rounds)
            seconds = (time.monotonic - begin).inSeconds
            if seconds >= 0.001 { break }
            rounds *= 2
        }
        let (each, whole) = (rounds, effort.seconds / max(seconds, 1e-6))
        let pieces = scope.width * max(1, Int(whole.rounded()))
        var fastest = Double.infinity
        for _ in 0..<max(effort.repeats, 1) {
            let begin = time.monotonic
            try scope.forEach(pieces) { _ in _ = nk_peak_products(kind, each) }
            fastest = min(fastest, (time.monotonic - begin).inSeconds)
        }
        return rate(nk_peak_operations(kind) * Double(each) * Double(pieces), seconds: fastest)
    }

    /// GB/s of the fastest pass over the buffers.
    private static func copies(_ effort: Effort, _ scope: ComputeScope) throws -> Double {
        let count = max(effort.copiedBytes / 4, 1)
        let piece = 1 << 18
        var source = try VoxelBuffer<Float>(count: count)
        var target = try VoxelBuffer<Float>(count: count)
        let fastest = try source.withUnsafeMutableBufferPointer { source in
            try target.withUnsafeMutableBufferPointer { target in
                guard let first = source.baseAddress, let second = target.baseAddress else { return Double.infinity }
                let (from, to) = (ParallelBuffer(first), ParallelBuffer(second))
                // Pages that were never written are all the same one.
                try scope.forEachRange(of: count, by: piece) { range in
                    for index in range { from.base[index] = Float(index & 0xFFFF) }
                }
                var fastest = Double.infinity
                // Copies through the caches, then copies past them (streaming stores): the faster kind counts.
                for streams in [Int32(0), 1] {
                    let limit = effort.seconds * Double(effort.repeats)
                    let begin = scope.time.monotonic
                    repeat {
                        let start = scope.time.monotonic
                        try scope.forEachRange(of: count, by: piece) { range in
                            nk_peak_copy(from.base + range.lowerBound, to.base + range.lowerBound, range.count, streams)
                        }
                        fastest = min(fastest, (scope.time.monotonic - start).inSeconds)
                    } while (scope.time.monotonic - begin).inSeconds < limit
                }
                return fastest
            }
        }
        // 4 bytes read and 4 bytes written for each float.
        return rate(8 * Double(count), seconds: fastest)
    }

    /// In units of 1e9 per second; 0 where no time passed.
    private static func rate(_ amount: Double, seconds: Double) -> Double {
        seconds > 0 ? amount / seconds / 1e9 : 0
    }
}
