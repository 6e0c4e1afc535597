/// Receives the progress of drawing.
public struct PictureProgress: Sendable {
    private let report: @Sendable (_ done: Int, _ count: Int) -> Void

    /// - Parameter report: Completed steps and total steps, in order, called on the drawing thread; it must return
    ///   quickly.
    public init(_ report: @escaping @Sendable (_ done: Int, _ count: Int) -> Void = { _, _ in }) {
        self.report = report
    }

    func steps(_ count: Int) -> Counter { Counter(progress: self, count: count) }

    struct Counter {
        fileprivate let progress: PictureProgress
        let count: Int
        private(set) var done = 0

        mutating func advance() {
            done += 1
            progress.report(done, count)
        }
    }
}
