internal import NocturneCore

/// A property by which slices of one series can be separated.
struct SeriesSplitCriterion: Sendable {
    struct Value: Sendable {
        /// Values are sorted by this number.
        var order: Double
        /// Used in the description of the reason.
        var text: String
        /// Used in names: letters, digits, full stops.
        var label: String

        static let missing = Value(order: -.infinity, text: "missing", label: "other")
    }

    let name: String
    /// Whether each part must contain every position once: for values, such as times, that could split a single volume
    /// by chance.
    var needsCompleteParts = false
    /// Whether the values may divide a single volume, into halves, packages or stations.
    var mayDivideVolumes = false
    /// The slices of each value, in the order of values.
    let groups: @Sendable ([DICOMSlice]) -> [(value: Value, slices: [DICOMSlice])]

    /// Slices with different values never belong to the same volume.
    static let forAllSeries = [
        orientation,
        byKey("the matrix") { slice in
            let text = "\(slice.plane.columns ?? 0)x\(slice.plane.rows ?? 0)"
            return Value(
                order: Double(slice.plane.columns ?? 0) * 65536 + Double(slice.plane.rows ?? 0),
                text: text,
                label: text
            )
        },
        pixelSpacing,
        text("StackID (0020,9056)", prefix: "stack") { $0.plane.stackID },
        number("EchoNumbers (0018,0086)", prefix: "e") { $0.plane.echoNumber.map(Double.init) },
        byKey("ImageType (0008,0008)") { component($0.plane.imageType) },
    ]

    /// Properties that separate repetitions of the same positions, the most specific first.
    static let forRepeatedPositions: [SeriesSplitCriterion] =
        [
            number("DiffusionBValue (0018,9087)", prefix: "b") { $0.plane.diffusionBValue },
            number("TemporalPositionIdentifier (0020,0100)", prefix: "t") {
                $0.plane.temporalPosition.map(Double.init)
            },
            dividing(
                number("AcquisitionNumber (0020,0012)", prefix: "a") { $0.plane.acquisitionNumber.map(Double.init) }
            ),
            dividing(rounded(number("EchoTime (0018,0081)", prefix: "te") { $0.plane.echoTime })),
            text("ImageType (0008,0008)", prefix: "") { $0.plane.imageType.joined(separator: "\\") },
            number("InversionTime (0018,0082)", prefix: "ti", complete: true) { $0.plane.inversionTime },
            number("RepetitionTime (0018,0080)", prefix: "tr", complete: true) { $0.plane.repetitionTime },
            number("FlipAngle (0018,1314)", prefix: "flip", complete: true) { $0.plane.flipAngle },
            number("KVP (0018,0060)", prefix: "kv", complete: true) { $0.plane.peakVoltage },
            text("ConvolutionKernel (0018,1210)", prefix: "kernel", complete: true) { $0.plane.kernel },
            number("TriggerTime (0018,1060)", prefix: "trigger", complete: true) { $0.plane.triggerTime },
        ]
        + (0..<8).map { index in
            number("DimensionIndexValues (0020,9157), number \(index + 1),", prefix: "d", complete: true) {
                $0.plane.dimensionIndex.indices.contains(index) ? Double($0.plane.dimensionIndex[index]) : nil
            }
        } + [
            ranked("AcquisitionTime (0008,0032)") { $0.plane.acquisitionTime },
            ranked("ContentTime (0008,0033)") { $0.plane.contentTime },
        ]

    /// The elements in which one of the pairs differs, each once: those that could separate repetitions.
    static func elements(thatDifferIn pairs: [(DICOMSlice, DICOMSlice)]) -> [String] {
        var names: [String] = []
        for criterion in forAllSeries + forRepeatedPositions where !names.contains(criterion.element) {
            if pairs.contains(where: { criterion.groups([$0, $1]).count > 1 }) { names.append(criterion.element) }
        }
        return names
    }

    /// The name without the place of the value.
    private var element: String { name.firstIndex(of: ")").map { String(name[...$0]) } ?? name }

    /// Separates neighbouring slabs.
    static let thickness = number("SliceThickness (0018,0050)", prefix: "thickness") { $0.plane.sliceThickness }

    // MARK: Kinds of criteria

    private static func byKey(
        _ name: String,
        complete: Bool = false,
        _ value: @escaping @Sendable (DICOMSlice) -> Value
    ) -> SeriesSplitCriterion {
        SeriesSplitCriterion(name: name, needsCompleteParts: complete) { slices in
            var groups: [String: (value: Value, slices: [DICOMSlice])] = [:]
            for slice in slices {
                let value = value(slice)
                groups[value.text, default: (value, [])].slices.append(slice)
            }
            return groups.values.sorted {
                $0.value.order != $1.value.order ? $0.value.order < $1.value.order : $0.value.text < $1.value.text
            }
        }
    }

    private static func number(
        _ name: String,
        prefix: String,
        complete: Bool = false,
        _ read: @escaping @Sendable (DICOMSlice) -> Double?
    ) -> SeriesSplitCriterion {
        byKey(name, complete: complete) { slice in
            guard let number = read(slice) else { return .missing }
            let text = trimmed(number)
            return Value(order: number, text: text, label: prefix + text)
        }
    }

    private static func dividing(_ plain: SeriesSplitCriterion) -> SeriesSplitCriterion {
        var own = plain
        own.mayDivideVolumes = true
        return own
    }

    /// Values within a thousandth are one, which is named by the lowest of them: scanners state what they measured.
    private static func rounded(_ plain: SeriesSplitCriterion) -> SeriesSplitCriterion {
        SeriesSplitCriterion(name: plain.name, needsCompleteParts: plain.needsCompleteParts) { slices in
            var groups: [(value: Value, slices: [DICOMSlice])] = []
            for group in plain.groups(slices) {
                let limit = (groups.last?.value.order ?? -.infinity) * 1.001
                if limit.isFinite, group.value.order <= limit {
                    groups[groups.count - 1].slices += group.slices
                } else {
                    groups.append(group)
                }
            }
            return groups
        }
    }

    private static func text(
        _ name: String,
        prefix: String,
        complete: Bool = false,
        _ read: @escaping @Sendable (DICOMSlice) -> String?
    ) -> SeriesSplitCriterion {
        byKey(name, complete: complete) { slice in
            guard let text = read(slice), !text.isEmpty else { return .missing }
            let plain = text.lowercased().map { $0.isLetter && $0.isASCII || $0.isNumber && $0.isASCII ? $0 : "-" }
            return Value(order: 0, text: text, label: prefix + String(plain.suffix(40)))
        }
    }

    /// Times: labels are ranks, because the seconds of the day mean nothing to the reader.
    private static func ranked(
        _ name: String,
        _ read: @escaping @Sendable (DICOMSlice) -> Double?
    ) -> SeriesSplitCriterion {
        let plain = number(name, prefix: "", complete: true, read)
        return SeriesSplitCriterion(name: name, needsCompleteParts: true) { slices in
            let groups = plain.groups(slices)
            let times = secondsAcrossMidnight(groups.map(\.value.order))
            return groups.indices.sorted { times[$0] < times[$1] }.enumerated().map { rank, place in
                var value = groups[place].value
                value.label = "p\(rank + 1)"
                if value.order.isFinite { value.text = clock(value.order) }
                return (value, groups[place].slices)
            }
        }
    }

    /// The slices of each value, in the order of the first slices. A slice belongs to the first value that is like its own.
    private static func grouped<Read>(
        _ slices: [DICOMSlice],
        by read: (DICOMSlice) -> Read,
        areAlike: (_ known: Read, _ own: Read) -> Bool
    ) -> [(value: Read, slices: [DICOMSlice])] {
        var groups: [(value: Read, slices: [DICOMSlice])] = []
        for slice in slices.sorted(by: isBefore) {
            let own = read(slice)
            let known = groups.firstIndex { areAlike($0.value, own) }
            // At most a hundred are distinguished, because the search time is quadratic in their number.
            if let place = known ?? (groups.count == 100 ? 99 : nil) {
                groups[place].slices.append(slice)
            } else {
                groups.append((own, [slice]))
            }
        }
        return groups
    }

    // MARK: Specific criteria

    /// Planes whose difference exceeds noise, named by the axis perpendicular to them.
    private static let orientation = SeriesSplitCriterion(name: "ImageOrientationPatient (0020,0037)") { slices in
        let found = grouped(slices) { slice -> (row: SIMD3<Double>, column: SIMD3<Double>) in
            (slice.plane.rowDirection ?? .zero, slice.plane.columnDirection ?? .zero)
        } areAlike: {
            SliceStack.Tolerance.areAlike($0.row, $1.row) && SliceStack.Tolerance.areAlike($0.column, $1.column)
        }
        let planes = found.map { planeName(cross($0.value.row, $0.value.column)) }
        return found.enumerated().map { index, group in
            let plane = planes[index]
            let isAlone = planes.count { $0 == plane } == 1
            let label = isAlone ? plane : "\(plane)\(planes[...index].count { $0 == plane })"
            return (Value(order: Double(index), text: label, label: label), group.slices)
        }
    }

    private static let pixelSpacing = SeriesSplitCriterion(name: "PixelSpacing (0028,0030)") { slices in
        let found = grouped(slices) { slice -> SIMD2<Double> in
            SIMD2(slice.plane.columnSpacing ?? 0, slice.plane.rowSpacing ?? 0)
        } areAlike: { known, own in
            let allowed = known * SliceStack.Tolerance.pixelSpacing
            return abs(own.x - known.x) <= allowed.x && abs(own.y - known.y) <= allowed.y
        }
        return found.map { spacing, slices in
            let text = "\(trimmed(spacing.y))x\(trimmed(spacing.x))"
            return (Value(order: spacing.y, text: "\(text) mm", label: "\(text)mm"), slices)
        }
    }

    /// What ImageType calls the parts of a complex image or of a water-fat separation: Siemens, GE, Philips and the standard's
    /// ComplexImageComponent, in the order in which parts are listed.
    private static let components: [(values: Set<String>, label: String)] = [
        (["M", "MAGNITUDE", "M_FFE", "M_SE", "M_IR"], "magnitude"),
        (["P", "PHASE", "PHASE MAP", "P_FFE"], "phase"),
        (["R", "REAL", "R_FFE", "R_IR"], "real"), (["I", "IMAGINARY", "I_FFE"], "imaginary"),
        (["WATER", "W"], "water"), (["FAT", "F"], "fat"),
        (["IN_PHASE", "IN-PHASE", "IP", "INPHASE"], "inphase"),
        (["OUT_PHASE", "OPP_PHASE", "OUT-PHASE", "OP", "OUTPHASE", "OPPOSED_PHASE"], "outphase"),
        (["FIELD_MAP", "FIELDMAP", "B0", "B0 MAP"], "fieldmap"), (["FAT_FRACTION", "FF"], "fatfraction"),
    ]

    /// The part that ImageType names.
    private static func component(_ type: [String]) -> Value {
        // The first two values describe the image's origin; water and fat take precedence over magnitude.
        let values = type.dropFirst(2)
        guard let place = components.lastIndex(where: { values.contains(where: $0.values.contains) }) else {
            return Value(order: -1, text: "none of these", label: "other")
        }
        return Value(order: Double(place), text: components[place].label, label: components[place].label)
    }

    static func isBefore(_ left: DICOMSlice, _ right: DICOMSlice) -> Bool {
        let (a, b) = (left.plane.instanceNumber ?? Int.max, right.plane.instanceNumber ?? Int.max)
        if a != b { return a < b }
        if left.object.path != right.object.path { return left.object.path < right.object.path }
        if left.frame != right.frame { return left.frame < right.frame }
        let (one, other) = (left.tile ?? PixelBox(x: 0, y: 0, width: 0, height: 0), right.tile)
        return (one.y, one.x) < (other?.y ?? 0, other?.x ?? 0)
    }

    private static func planeName(_ normal: SIMD3<Double>) -> String {
        let (x, y, z) = (abs(normal.x), abs(normal.y), abs(normal.z))
        return z >= x && z >= y ? "axial" : x >= y ? "sagittal" : "coronal"
    }

    /// At most four decimal places, without trailing zeros.
    private static func trimmed(_ value: Double) -> String {
        let text = figure(value)
        return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
    }

    private static func clock(_ seconds: Double) -> String {
        guard seconds >= 0, seconds < 86_400 else { return trimmed(seconds) }
        let whole = Int(seconds)
        func two(_ value: Int) -> String { value < 10 ? "0\(value)" : "\(value)" }
        let rest = trimmed(seconds - Double(whole)).dropFirst()
        return "\(two(whole / 3600)):\(two(whole / 60 % 60)):\(two(whole % 60))\(rest)"
    }
}

/// Times of the day as times of a series: those after midnight, in a series that crosses it, are a day later than those before it.
///
/// A series crosses midnight if all its times are within twelve hours only around midnight. Dates are not needed, which tools that
/// remove identities replace or take away.
/// - Parameter times: seconds of the day, in any order; infinite ones are kept.
package func secondsAcrossMidnight(_ times: [Double]) -> [Double] {
    let day = 86_400.0
    let sorted = times.filter(\.isFinite).sorted()
    guard let pause = zip(sorted, sorted.dropFirst()).first(where: { $1 - $0 > day / 2 }) else { return times }
    return times.map { $0 < pause.1 ? $0 + day : $0 }
}
