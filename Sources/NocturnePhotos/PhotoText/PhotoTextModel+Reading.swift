import Foundation
import NocturneConcurrency
import NocturneCore
import NocturneNumerics
import NocturnePostprocess

extension PhotoTextModel {
    /// The text in a picture.
    struct Reading: Sendable {
        struct Line: Sendable {
            let text: String
            /// 0...1.
            let confidence: Double
            /// Where the line begins above, and on clockwise as it is read, in pixels of the picture, whose centres are whole
            /// numbers.
            let corners: [SIMD2<Double>]

            /// How much the line counts for its direction.
            fileprivate var weight: Double { Double(text.count) * confidence }
        }

        /// How the picture was turned to read it.
        let turn: QuarterTurn
        /// In reading order.
        let lines: [Line]

        /// The lines with spaces between them.
        var text: String { lines.map(\.text).joined(separator: " ") }

        /// The mean over all characters, 0...1; nil without text.
        var confidence: Double? {
            let count = lines.reduce(0) { $0 + $1.text.count }
            return count > 0 ? weight / Double(count) : nil
        }

        private var weight: Double { lines.reduce(0) { $0 + $1.weight } }
    }
}

extension PhotoTextModel.Reading {
    /// Reads a picture turned each way, and keeps the reading with the greatest sum of confidences over its characters; the first
    /// of equal ones.
    /// - Throws: `NetworkOutputError` for outputs that are not finite; `CancelledError`, `ModelFormatError`, `AllocationError`.
    init(of image: RGBImage, _ model: PhotoTextModel, _ sessions: PhotoSessions, _ scope: ComputeScope) throws {
        var best: PhotoTextModel.Reading?
        for turn in QuarterTurn.allCases {
            try scope.check()
            let found = try Self.read(image, turn, model, sessions, scope)
            if best.map({ found.weight > $0.weight }) ?? true { best = found }
        }
        self = best ?? PhotoTextModel.Reading(turn: .none, lines: [])
    }

    private static func read(
        _ image: RGBImage,
        _ turn: QuarterTurn,
        _ model: PhotoTextModel,
        _ sessions: PhotoSessions,
        _ scope: ComputeScope
    ) throws -> PhotoTextModel.Reading {
        let turned = turn.applied(to: image)
        var lines: [Line] = []
        for corners in try model.regions(in: turned, sessions, scope) {
            guard let (picture, corners) = turned.lineOfText(within: corners) else { continue }
            let (text, confidence) = try model.text(of: picture, sessions, scope)
            let trimmed = text.trimmingCharacters(in: .whitespaces)
            guard !trimmed.isEmpty, confidence >= model.settings.minimumConfidence else { continue }
            lines.append(Line(text: trimmed, confidence: Double(confidence), corners: corners))
        }
        let ordered = ReadingOrder.order(ofLines: lines.map(\.corners)).map { index in
            let line = lines[index]
            let corners = line.corners.map { turn.source(of: $0, width: image.width, height: image.height) }
            return Line(text: line.text, confidence: line.confidence, corners: corners)
        }
        return PhotoTextModel.Reading(turn: turn, lines: ordered)
    }
}
