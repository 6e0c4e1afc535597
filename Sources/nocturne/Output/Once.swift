import Synchronization

/// Something that is done at most once, whoever asks for it.
final class Once: Sendable {
    private let isDone = Atomic(false)
    private let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) { self.body = body }

    func callAsFunction() {
        if !isDone.exchange(true, ordering: .acquiringAndReleasing) { body() }
    }
}
