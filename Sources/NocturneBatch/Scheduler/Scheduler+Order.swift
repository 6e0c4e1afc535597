public import NocturneJournal

extension JournalSetting<[String]> {
    /// Names of items that a user has put before the others, in their order.
    public static var firstItems: Self { Self(json: "firstItems") }
}

extension Journal {
    /// Puts items before those that were put first earlier. Durable when it returns.
    /// - Parameter names: of items, in their order.
    public func putFirst(_ names: [String]) throws(JournalError) {
        let earlier = try value(of: .firstItems) ?? []
        try set(.firstItems, to: names + earlier.filter { !names.contains($0) })
    }
}

/// Items that a user puts before the others.
extension Scheduler {
    /// Starts some items next. Those that have ended stay as they are.
    func putFirst(_ request: FirstRequest) async {
        let names = request.names
        // Where that fails, the order holds for this run.
        do { try await context.journal.putFirst(names) } catch { await context.progress.note("\(error)") }
        if let text = request.text(active: Set(machine.active.values.map(\.item.name))) {
            await context.progress.note(text)
        }
        do {
            var known = Dictionary(machine.waiting.map { ($0.name, $0) }) { first, _ in first }
            let others = try await context.journal.takePending(names.filter { known[$0] == nil }, after: lastFetched)
            for item in await withEarlierResults(others) {
                items[item.id] = item
                known[item.name] = item
            }
            var next = names.compactMap { known[$0] }
            if request.now { next += machine.active.values.map(\.item).filter { names.contains($0.name) } }
            guard !next.isEmpty else { return }
            machine.putFirst(next, isUrgent: request.now)
            // Here, where no item is just being started.
            if request.now { context.control.stepAside(for: Set(next.map(\.name))) }
            let title = request.now ? "Now, before active items" : "Next"
            await context.progress.note("\(title), as requested: \(next.map(\.name).joined(separator: ", ")).")
        } catch {
            await context.progress.note("\(error)")
        }
    }
}
