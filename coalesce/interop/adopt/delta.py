"""x"""
def survey_delta(*a): raise NotImplementedError
