package import NocturneJournal
package import NocturneSystem

/// Decides when the latest items show that a batch is wrong: the wrong folder or model, or images of another kind.
///
/// It sees items in the order in which they end. The rules that apply unless others are given are not reached by a cohort with some
/// bad files: 20 items in a row fail with the same code, or 20 label maps of a model in a row are empty.
package struct CircuitBreaker: Sendable {
    private let rules: StopRules
    private var sameCode: (code: FaultCode, names: [String])?
    private var maps: [String: Maps] = [:]
    /// Whether an item has completed with a label, or without looking for any.
    private var hasGood = false
    private var failed = Recent()
    private var outside = Recent()

    /// The label maps of one model.
    private struct Maps {
        /// How many are empty since the last map with a label.
        var emptyCount = 0
        /// The latest of these, at most as many as the rule looks at.
        var empty: [String] = []
        /// Those before.
        var earlier = (all: 0, labelled: 0)
        /// Where empty maps are usual, as with a model of rare lesions, many in a row show nothing.
        // Without earlier maps it holds, too: 0 is at least 0.3 times 0.
        var isEmptyUnusual: Bool { Double(earlier.labelled) >= 0.3 * Double(earlier.all) }
    }

    /// Whether something is true of the latest items.
    private struct Recent {
        /// The names of those of which it is true; nil for the others.
        private var items: [String?] = []
        private(set) var trueCount = 0

        /// - Returns: the names of the items of which it is true, once they are at least the share.
        mutating func add(_ name: String, _ isTrue: Bool, _ limit: StopRules.Share?) -> [String]? {
            guard let limit else { return nil }
            items.append(isTrue ? name : nil)
            trueCount += isTrue ? 1 : 0
            // At most one is removed for one that is added: the list has as many items as the rule looks at.
            if items.count > limit.count, items.removeFirst() != nil { trueCount -= 1 }
            let isReached = items.count == limit.count && Double(trueCount) >= limit.share * Double(limit.count)
            return isReached ? items.compactMap(\.self) : nil
        }
    }

    /// How an item ended.
    package enum End: Sendable {
        case failed(FaultCode)
        /// - Parameters:
        ///   - isEmpty: whether no label has a voxel; nil for results without labels.
        ///   - isOutside: whether a value is outside of its reference range.
        case completed(isEmpty: Bool?, isOutside: Bool)
    }

    /// Why the run is to stop.
    package struct Trip: Sendable, Hashable {
        /// The fact, as in "20 items in a row failed with nifti.damaged".
        package let text: String
        /// The items that show it.
        package let names: [String]

        /// The folder below which all of these inputs are; nil where only the root is.
        package static func folder(of paths: [String]) -> String? {
            let folders = paths.map { $0.split(separator: "/").dropLast() }
            guard var common = folders.first else { return nil }
            for folder in folders { while !folder.starts(with: common) { common.removeLast() } }
            return common.isEmpty ? nil : "/" + common.joined(separator: "/")
        }
    }

    /// Has seen no item yet. A run keeps one over all its rounds.
    package init(_ rules: StopRules) { self.rules = rules }

    /// How many names it keeps: no more than the rules look at.
    package var keptNames: Int {
        (sameCode?.names.count ?? 0) + maps.values.reduce(0) { $0 + $1.empty.count } + failed.trueCount
            + outside.trueCount
    }

    /// How many active items may still end after a rule has stopped the run, and before the first good item.
    private static let (mostAfterTrip, mostAfterEarlyTrip) = (10, 5)

    /// How many items may be active, nil for any number: those that are active when a rule stops the run may still end. Fewer before the
    /// first good item, since a whole batch is wrong more often than a part of it, and the more of the latest are empty or failed.
    package var mostActive: Int? {
        let emptyCount = maps.values.filter(\.isEmptyUnusual).map(\.emptyCount).max() ?? 0
        let failedCount = sameCode?.names.count ?? 0
        let left = [rules.sameCode.map { $0 - failedCount }, rules.empty.map { $0 - emptyCount }].compactMap(\.self)
            .min()
        return left.map { max($0, 0) + (hasGood ? Self.mostAfterTrip : Self.mostAfterEarlyTrip) }
    }

    /// - Parameter model: the id; empty for none.
    /// - Returns: why the run is to stop; nil if it is to continue.
    package mutating func ended(_ name: String, model: String, _ end: End) -> Trip? {
        switch end {
        case .failed(let code):
            if let limit = rules.sameCode, let trip = repeated(name, code, limit) { return trip }
            return shares(name, isFailed: true, isOutside: false)
        case .completed(let isEmpty, let isOutside):
            sameCode = nil
            hasGood = hasGood || isEmpty != true
            if let isEmpty, let limit = rules.empty, let trip = labelled(name, model, isEmpty, limit) { return trip }
            return shares(name, isFailed: false, isOutside: isOutside)
        }
    }

    private mutating func repeated(_ name: String, _ code: FaultCode, _ limit: Int) -> Trip? {
        var names = sameCode?.code == code ? sameCode?.names ?? [] : []
        names.append(name)
        names = names.suffix(limit)
        sameCode = (code, names)
        guard names.count == limit else { return nil }
        return Trip(text: "\(limit) items in a row failed with \(code)", names: names)
    }

    private mutating func shares(_ name: String, isFailed: Bool, isOutside: Bool) -> Trip? {
        let (failures, values) = (
            failed.add(name, isFailed, rules.failed), outside.add(name, isOutside, rules.outside)
        )
        if let failures, let limit = rules.failed {
            return Trip(text: limit.text(failures.count, one: "failed", many: "failed"), names: failures)
        }
        if let values, let limit = rules.outside {
            let ranges = "values outside of their reference ranges"
            return Trip(text: limit.text(values.count, one: "has \(ranges)", many: "have \(ranges)"), names: values)
        }
        return nil
    }

    private mutating func labelled(_ name: String, _ model: String, _ isEmpty: Bool, _ limit: Int) -> Trip? {
        var own = maps[model] ?? Maps()
        defer { maps[model] = own }
        guard isEmpty else {
            own.earlier.all += own.emptyCount + 1
            own.earlier.labelled += 1
            (own.emptyCount, own.empty) = (0, [])
            return nil
        }
        own.emptyCount += 1
        own.empty = (own.empty + [name]).suffix(limit)
        guard own.empty.count == limit, own.isEmptyUnusual else { return nil }
        return Trip(text: "\(limit) label maps of \(model) in a row are empty", names: own.empty)
    }
}

/// When a run stops because of its latest items: the value of `--stop-when`.
public struct StopRules: Sendable, Hashable {
    /// A share of the latest items.
    package struct Share: Sendable, Hashable {
        /// Above 0 and at most 1.
        package let share: Double
        /// How many items.
        package let count: Int

        /// As in `20%/50`; a number alone means all of the latest items.
        init?(_ text: Substring) {
            if let count = Int(text), (1...100_000).contains(count) {
                (share, self.count) = (1, count)
                return
            }
            let parts = text.split(separator: "/", omittingEmptySubsequences: false)
            guard parts.count == 2, parts[0].last == "%", let percent = Double(parts[0].dropLast()),
                percent > 0, percent <= 100, let count = Int(parts[1]), (1...100_000).contains(count)
            else { return nil }
            (share, self.count) = (percent / 100, count)
        }

        /// That something is true of a number of these items.
        func text(_ number: Int, one: String, many: String) -> String {
            if count == 1 { return "an item \(one)" }
            return share == 1 ? "\(count) items in a row \(many)" : "\(number) of the last \(count) items \(many)"
        }
    }

    /// Items in a row that fail with the same code.
    package var sameCode: Int?
    /// Label maps of a model in a row without a voxel.
    package var empty: Int?
    /// Items that fail, with any code.
    package var failed: Share?
    /// Items with values outside of the ranges of `--norms`, or with intensities that the model was not trained on.
    package var outside: Share?

    /// 20 of the same code, 20 empty maps.
    public init() { (sameCode, empty) = (20, 20) }

    /// Parses rules between commas, such as `same=20,empty=20,failed=20%/50,outside=50%/20`; those that are not named do not apply.
    /// `failed=1` is the first failure, `never` means none.
    /// - Returns: nil for other texts.
    public init?(_ text: String) {
        (sameCode, empty) = (nil, nil)
        guard text != "never" else { return }
        for rule in text.split(separator: ",", omittingEmptySubsequences: false) {
            let parts = rule.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2 else { return nil }
            let count = Int(parts[1]).flatMap { (1...100_000).contains($0) ? $0 : nil }
            switch (parts[0], count, Share(parts[1])) {
            case ("same", let count?, _): sameCode = count
            case ("empty", let count?, _): empty = count
            case ("failed", _, let share?): failed = share
            case ("outside", _, let share?): outside = share
            default: return nil
            }
        }
    }
}

extension ItemProduct {
    /// Whether labels were looked for and none has a voxel; nil where none was looked for.
    package var isEmpty: Bool? {
        let counts = statistics.filter { $0.measure == "voxelCount" }
        return counts.isEmpty ? nil : counts.allSatisfy { $0.value == 0 }
    }
}
