package database

import (
	"errors"
	"iter"
)

// findNeeds finds the rows with what listed rows need.
func (i *fileImport) findNeeds(rows iter.Seq2[ImportRow, error]) error {
	needing, isRefused := map[string][]*RowError{}, map[int]bool{}
	for _, row := range i.refused.Listed {
		if isRefused[row.Line] = true; row.holder != "" {
			needing[row.holder] = append(needing[row.holder], row)
		}
	}
	if len(needing) == 0 {
		return nil
	}
	for row, err := range rows {
		if _, isRow := errors.AsType[*RowError](err); err != nil && !isRow {
			return err
		}
		for _, refused := range needing[i.sameEmail(row.Email)] {
			field, has := refused.needs.field, (*string)(nil)
			if field != nil {
				has = field.Value(&row.Profile)
			}
			hasIt := field == nil || has != nil && *has == refused.needs.text
			switch {
			case err != nil || refused.By > 0 || row.Line == refused.Line:
			case hasIt && row.Line < refused.Line && !isRefused[row.Line]:
				refused.By = row.Line
			case !hasIt && i.options.OnConflict == ConflictUpdates && row.Given.Has(field) && !(has == nil && i.options.KeepValues):
				refused.By, refused.Frees = row.Line, true
			}
		}
	}
	return nil
}
