/// Where the time of a network goes: its steps, and the kinds of steps, against the peak of the machine.
public struct NetworkProfile: Sendable, Codable {
    /// What the machine can do at most.
    public var peak: MachinePeak
    /// In execution order.
    public var steps: [StepEntry]
    /// Those that the network has, in the order of ``StepKind``.
    public var kinds: [Kind]
    /// Of all steps.
    public var total: Figures
    /// What other numbers of threads would take, without what threads share.
    public var scaling: [Scaling]

    /// A number of threads.
    public struct Scaling: Sendable, Codable, Equatable {
        /// 1 to 64.
        public var threads: Int
        /// Of a run.
        public var seconds: Double
        /// The share of the threads' time in which they compute, from 0 to 1.
        public var efficiency: Double
        /// The bytes of all steps by the seconds.
        public var gigabytesPerSecond: Double
    }

    /// A step of the plan.
    public struct StepEntry: Sendable, Codable {
        /// As in the timings.
        public var title: String
        /// What it computes.
        public var kind: StepKind
        /// How a convolution is computed, such as "direct" or "minimal 4x4".
        public var method: String?
        /// Of its fastest run.
        public var figures: Figures
    }

    /// All steps of one kind.
    public struct Kind: Sendable, Codable {
        /// Of these steps.
        public var kind: StepKind
        /// The number of steps.
        public var steps: Int
        /// Added up.
        public var figures: Figures
    }

    /// The figures of one step, or of several together. Rates are 0 where no time passed.
    public struct Figures: Sendable, Codable, Equatable {
        /// The fastest time of each step.
        public var seconds: Double
        /// Of the time of all steps, from 0 to 1.
        public var timeShare: Double
        /// Operations of the direct method; a multiply-add counts as two.
        public var effectiveOperations: Double
        /// Operations that are computed: products, with channels padded to whole vectors, and the transforms of
        /// minimal filtering.
        public var realOperations: Double
        /// ``effectiveOperations`` in 1e9 per second.
        public var effectiveGigaflopsPerSecond: Double
        /// ``realOperations`` in 1e9 per second.
        public var realGigaflopsPerSecond: Double
        /// The bytes of inputs, outputs and packed weights, once each.
        public var bytes: Double
        /// ``bytes`` in 1e9 per second.
        public var gigabytesPerSecond: Double
        /// The time that the real operations need at the peak of their operands, relative to the time taken: 1 is the
        /// peak. nil without operations, and where the peak of some was not measured.
        public var arithmeticShare: Double?
        /// The rate of bytes relative to the peak of copies.
        public var memoryShare: Double
    }

    /// - Parameters:
    ///   - titles, works, seconds: one of each for every step.
    package init(titles: [String], works: [StepWork], seconds: [Double], peak: MachinePeak) {
        let total = seconds.reduce(0, +)
        let all = Array(zip(works, seconds))
        self.peak = peak
        steps = zip(titles, all).map { title, step in
            StepEntry(
                title: title,
                kind: step.0.kind,
                method: step.0.method,
                figures: Figures(of: [step], totalSeconds: total, peak: peak)
            )
        }
        kinds = StepKind.allCases.compactMap { kind in
            let own = all.filter { $0.0.kind == kind }
            guard !own.isEmpty else { return nil }
            return Kind(kind: kind, steps: own.count, figures: Figures(of: own, totalSeconds: total, peak: peak))
        }
        self.total = Figures(of: all, totalSeconds: total, peak: peak)
        let bytes = self.total.bytes
        let model = ThreadScaling(works, seconds: seconds, threads: peak.threads)
        scaling = Self.threadCounts.map { threads in
            let seconds = model.time(threads: threads)
            return Scaling(
                threads: threads,
                seconds: seconds,
                efficiency: model.efficiency(threads: threads),
                gigabytesPerSecond: seconds > 0 ? bytes / seconds * 1e-9 : 0
            )
        }
    }

    private static let threadCounts = [1, 2, 4, 8, 16, 32, 64]
}

extension NetworkProfile.Figures {
    init(of steps: [(StepWork, Double)], totalSeconds: Double, peak: MachinePeak) {
        seconds = steps.reduce(0) { $0 + $1.1 }
        timeShare = totalSeconds > 0 ? seconds / totalSeconds : 0
        effectiveOperations = steps.reduce(0) { $0 + $1.0.operations }
        realOperations = steps.reduce(0) { $0 + $1.0.products + $1.0.transforms }
        bytes = steps.reduce(0) { $0 + $1.0.bytes }
        let perSecond = seconds > 0 ? 1e-9 / seconds : 0
        effectiveGigaflopsPerSecond = effectiveOperations * perSecond
        realGigaflopsPerSecond = realOperations * perSecond
        gigabytesPerSecond = bytes * perSecond
        memoryShare = peak.gigabytesPerSecond > 0 ? gigabytesPerSecond / peak.gigabytesPerSecond : 0
        arithmeticShare = nil
        var least = 0.0
        for (work, _) in steps {
            // Without the peak of one kind of operands, the share of the others would look like that of all.
            guard let own = peak.leastSeconds(of: work) else { return }
            least += own
        }
        if realOperations > 0, seconds > 0 { arithmeticShare = least / seconds }
    }
}

extension MachinePeak {
    /// The time of a step's operations at the peak: products at that of their operands, transforms at that of float32.
    /// nil where a peak that it needs was not measured.
    package func leastSeconds(of work: StepWork) -> Double? {
        guard work.products + work.transforms > 0 else { return 0 }
        let rate: Double? =
            switch work.operands {
            case .float32: gigaflopsPerSecond
            case .bfloat16: bfloat16GigaflopsPerSecond
            case .tiles: nil
            }
        guard let rate, rate > 0, gigaflopsPerSecond > 0 else { return nil }
        return (work.products / rate + work.transforms / gigaflopsPerSecond) * 1e-9
    }
}
