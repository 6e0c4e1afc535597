/// How the time of a network falls with the number of threads, as far as the division of its steps into parts decides it.
///
/// A step is a loop over equal parts that any thread takes one by one, and the next step begins when all parts have ended. With
/// n threads a step of p parts therefore takes ⌈p / n⌉ times the time of a part. What threads share (memory bandwidth,
/// caches, the frequency of the processor) is left out, so that a machine with many cores is at most as fast as predicted here.
public struct ThreadScaling: Sendable, Equatable {
    /// A step.
    public struct Loop: Sendable, Equatable {
        /// On one thread, in any unit that all steps share.
        public var time: Double
        /// At least 1.
        public var parts: Int

        /// - Parameter parts: at least 1; less counts as 1.
        public init(time: Double, parts: Int) {
            self.time = time
            self.parts = max(parts, 1)
        }

        func time(threads: Int) -> Double {
            time / Double(parts) * Double((parts + threads - 1) / threads)
        }
    }

    /// In any order.
    public var steps: [Loop]

    /// Of loops that run one after the other.
    public init(_ steps: [Loop]) { self.steps = steps }

    /// The time of a run, in the unit of the steps.
    public func time(threads: Int) -> Double { steps.reduce(0) { $0 + $1.time(threads: max(threads, 1)) } }

    /// The share of the threads' time in which they compute, from 0 to 1; 1 for a network without steps.
    public func efficiency(threads: Int) -> Double {
        let time = time(threads: threads) * Double(max(threads, 1))
        return time > 0 ? self.time(threads: 1) / time : 1
    }

    /// The number of threads for each of several equal processes that together use all cores: as few processes as have an
    /// efficiency of 0.9, since each of them has its own networks in memory.
    ///
    /// - Returns: a whole fraction of `cores`, rounded down; `cores` itself where no fraction is efficient enough.
    public func threadsOfProcess(cores: Int) -> Int {
        for processes in 1...max(cores, 1) where efficiency(threads: cores / processes) >= 0.9 {
            return max(cores / processes, 1)
        }
        return max(cores, 1)
    }
}

extension ThreadScaling {
    /// Of the works of a network's steps, with the times that a machine would need at its peaks: 9 operations take as long as
    /// moving a byte, twice as many with operands of bfloat16, and 8 times as many on matrix tiles. Only the ratios
    /// between the steps matter.
    package init(_ works: [StepWork]) {
        self.init(
            works.map { work in
                let perCycle: Double =
                    switch work.operands {
                    case .float32: 1
                    case .bfloat16: 2
                    case .tiles: 8
                    }
                let operations = work.products / perCycle + work.transforms
                return Loop(time: max(operations, 9 * work.bytes), parts: work.parts)
            }
        )
    }

    /// Of steps whose times were measured with `threads` threads.
    package init(_ works: [StepWork], seconds: [Double], threads: Int) {
        self.init(
            zip(works, seconds).map { work, seconds in
                let unit = Loop(time: 1, parts: work.parts)
                return Loop(time: seconds / unit.time(threads: max(threads, 1)), parts: work.parts)
            }
        )
    }
}
