internal import CDICOMParser
internal import NocturneCore
import NocturneSystem

/// The place of an object among those into which one multi-frame image was divided (PS3.3 C.7.6.16.2.2.4).
struct Concatenation: Sendable, Hashable {
    /// ConcatenationUID (0020,9161), which all of them have.
    let uid: String
    /// InConcatenationNumber (0020,9162), from 1.
    let number: Int
    /// InConcatenationTotalNumber (0020,9163); 0 where it is not stated.
    let total: Int

    /// Both numbers have two bytes.
    private static let numbers = 1...Int(UInt16.max)

    /// Nil for an object that is not part of a concatenation, or does not state its place.
    init?(_ header: cdicom_header) {
        uid = text(header.concatenation_uid)
        guard !uid.isEmpty, Self.numbers.contains(Int(header.concatenation_number)) else { return nil }
        number = Int(header.concatenation_number)
        total = Self.numbers.contains(Int(header.concatenation_total)) ? Int(header.concatenation_total) : 0
    }

    /// The series with an error for each volume that is part of an image of which objects are missing. A slice that is missing at
    /// the end of a stack is not seen in another way. A note replaces the error where volumes have the positions of one that is complete.
    /// - Parameter objects: all of the series, sorted by path.
    static func checked(_ series: [DICOMSeries], of objects: [SharedValue<DICOMObject>]) -> [DICOMSeries] {
        let members = objects.filter { $0.wrappedValue.concatenation != nil }
        let uids = Set(members.compactMap { $0.wrappedValue.concatenation?.uid })
        // Tools that remove identities may give every object another UID: the numbers are then those of one image.
        let places = members.compactMap(\.wrappedValue.concatenation)
        let areOne =
            uids.count == members.count && Set(places.map(\.number)).count == members.count
            && Set(places.map(\.total)).count == 1
        func key(_ object: DICOMObject) -> String? { object.concatenation.map { areOne ? "" : $0.uid } }
        let parts = Dictionary(grouping: members) { key($0.wrappedValue) ?? "" }
        let gaps = parts.compactMapValues { Gap($0) }
        guard !gaps.isEmpty else { return series }
        let usable = series.filter { $0.problem == nil }
        return series.map { series in
            let gap = series.slices.lazy.compactMap { key($0.object).flatMap { gaps[$0] } }.first
            guard series.problem == nil, let gap else { return series }
            var series = series
            let alike = series.geometry.map { own in usable.filter { $0.geometry?.matches(own) == true } } ?? []
            if alike.count > 1, alike.contains(where: gap.isBeside) {
                series.notes.append(Note("dicom.objectsMissing", gap.sentence))
            } else {
                (series.geometry, series.correction) = (nil, nil)
                series.problem = gap.object.error(.missingSlices, gap.sentence.description)
            }
            return series
        }
    }

    /// The objects of a concatenation, of which others are missing.
    private struct Gap {
        let object: DICOMObject
        let found: Set<Int>
        let total: Int

        /// Nil where none is missing.
        init?(_ objects: [SharedValue<DICOMObject>]) {
            let places = objects.compactMap(\.wrappedValue.concatenation)
            object = objects[0].wrappedValue
            found = Set(places.map(\.number))
            total = places.map { max($0.number, $0.total) }.max() ?? 0
            guard found.count < total else { return nil }
        }

        var sentence: Sentence {
            let missing = (1...total).lazy.filter { [found] in !found.contains($0) }.prefix(8).map(String.init)
            let more = total - found.count - missing.count
            let numbers = missing.joined(separator: ", ") + (more > 0 ? " and \(more) more" : "")
            return "\(found.count) of the \(total) objects of a concatenation (0020,9161) are there; missing are those "
                + "with InConcatenationNumber (0020,9162) \(own: numbers)"
        }

        /// Whether none of the missing objects can have slices of a volume: its objects are consecutive, and those before and after
        /// them are there.
        func isBeside(_ volume: DICOMSeries) -> Bool {
            let own = Set(volume.slices.map { $0.object.concatenation?.number ?? 0 })
            guard let low = own.min(), let high = own.max(), low > 0, own.count == high - low + 1 else { return false }
            return (low == 1 || found.contains(low - 1)) && (high == total || found.contains(high + 1))
        }
    }
}
