import NocturneOutput
import NocturneSystem

/// What has been shown about waiting, so that it is shown once.
struct WaitAnnouncements {
    private var current: AdmissionStateMachine.WaitReason?

    /// - Parameters:
    ///   - reason: what the run lacks now; nil for nothing that has to be shown.
    ///   - isStopping: whether the wait ends because the run does.
    mutating func change(
        to reason: AdmissionStateMachine.WaitReason?,
        isStopping: Bool,
        _ hours: WorkingHours,
        _ pause: RunPause?
    ) -> [WaitNotice] {
        let reason = [.activeItems, .retryTime].contains(reason) ? nil : reason
        defer { current = reason }
        switch (current, reason) {
        case (.disk, .disk), (.opening, .opening), (.paused, .paused), (nil, nil): return []
        case (.memory(let before), .memory(let now)) where before.name == now.name: return []
        default: break
        }
        var notices: [WaitNotice] = []
        switch current {
        case .disk:
            if reason != .paused, !isStopping { notices.append(.spaceAgain) }
        case nil: break
        default: notices.append(WaitNotice(status: nil))
        }
        switch reason {
        case .disk(let shortage): notices.append(.waitsForSpace(shortage))
        case .memory(let shortage): notices.append(.waits(for: shortage))
        case .paused:
            let end = pause?.awaitsApproval == true ? "the approval of the pilot" : "the end of the pause"
            notices.append(WaitNotice(status: end))
        case .opening: if let window = hours.window { notices.append(.waits(forOpeningOf: window)) }
        default: break
        }
        return notices
    }
}

extension WaitNotice {
    fileprivate static func waits(for shortage: AdmissionStateMachine.MemoryShortage) -> WaitNotice {
        let text = "\(ByteCount(shortage.bytes)) of memory, \(ByteCount(shortage.availableBytes)) are available"
        return WaitNotice(
            event: BatchEvent(.note, reason: "\(shortage.name) needs \(text); it waits until there is enough."),
            status: "memory for \(shortage.name), which needs \(text)"
        )
    }
}

extension AdmissionStateMachine.DrainReason {
    /// What is shown about it.
    func event(_ hours: WorkingHours) -> BatchEvent {
        switch self {
        case .deadline(let count):
            let time = hours.finishBy.map { "\($0)" } ?? "the given time"
            let text = "Not started: \(counted(count, "item")) that would probably not be finished by \(time)."
            return BatchEvent(.note, reason: text)
        case .diskFull(let shortage): return .stopsForSpace(shortage)
        case .journal(let text): return BatchEvent(.note, reason: text)
        case .paused:
            let text = "The time is over in a pause: active items are stopped, partial work is saved."
            return BatchEvent(.note, reason: text)
        }
    }
}

extension AdmissionStateMachine.MemoryWait {
    func text(of name: String) -> String {
        switch self {
        case .ended(let time): "\(name) waited \(time.components.seconds) s for memory."
        case .gaveUp(let time): "\(name) is started anyway after \(time.components.seconds) s."
        }
    }
}
