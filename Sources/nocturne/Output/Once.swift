import Synchronization

/// Runs its body at most once, even if called from several threads.
final class Once: Sendable {
    private let isDone = Atomic(false)
    private let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) { self.body = body }

    func callAsFunction() {
        if !isDone.exchange(true, ordering: .acquiringAndReleasing) { body() }
    }
}
